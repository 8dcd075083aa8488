package fidelity

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
)

// cluster is a cluster as the API server would show it.
type cluster struct {
	nodes      []*corev1.Node
	namespaces []*corev1.Namespace
	pods       []*corev1.Pod // bound, nominated or pending
	storage    []metav1.Object
}

// placed are the pods that take room on a node: bound ones, and those assumed to be on the node they were sent to. The
// scheduler's informer leaves finished pods out, its snapshot those on nodes that are gone.
func (c *cluster) placed() []*corev1.Pod {
	there := sets.New[string]()
	for _, n := range c.nodes {
		there.Insert(n.Name)
	}
	var out []*corev1.Pod
	for _, p := range c.pods {
		switch {
		case !there.Has(p.Spec.NodeName + p.Status.NominatedNodeName):
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		case p.Spec.NodeName != "":
			out = append(out, p)
		case p.Status.NominatedNodeName != "":
			assumed := p.DeepCopy()
			assumed.Spec.NodeName = p.Status.NominatedNodeName
			out = append(out, assumed)
		}
	}
	return out
}

// pending are the pods to be judged.
func (c *cluster) pending() []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range c.pods {
		if p.Spec.NodeName == "" && p.Status.NominatedNodeName == "" {
			out = append(out, p)
		}
	}
	return out
}

const schedulerName = "muster"

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// view is the cluster as Muster sees it.
func (c *cluster) view() *capacity.View {
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New(schedulerName)})
	for _, n := range c.namespaces {
		live.SetNamespace(n)
	}
	for _, o := range c.storage {
		live.SetStorage(o)
	}
	for _, n := range c.nodes {
		live.SetNode(n, epoch)
	}
	for _, p := range c.pods {
		live.SetPod(p, epoch)
	}
	return live.View()
}
