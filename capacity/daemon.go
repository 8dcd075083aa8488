package capacity

import (
	"math"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/topology"
)

// Daemon is a DaemonSet: every node it matches will carry one of its pods, whoever schedules it.
type Daemon struct {
	UID       types.UID
	Name      string // namespace/name
	Namespace string
	Labels    topology.Labels // of its pods
	Ask       *Ask
	Node      string // the only node it is for: spec.template.spec.nodeName
}

// daemonTolerations are what the DaemonSet controller adds to every pod
// (pkg/controller/daemon/util: AddOrUpdateDaemonPodTolerations).
var daemonTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// NewDaemon compiles a DaemonSet.
func NewDaemon(ds *appsv1.DaemonSet) *Daemon {
	pod := &corev1.Pod{Spec: *ds.Spec.Template.Spec.DeepCopy()}
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, daemonTolerations...)
	return &Daemon{
		UID: ds.UID, Name: ds.Namespace + "/" + ds.Name, Namespace: ds.Namespace,
		Labels: topology.LabelsOf(ds.Spec.Template.Labels), Ask: NewAsk(pod), Node: ds.Spec.Template.Spec.NodeName,
	}
}

// Matches says whether the DaemonSet will put a pod on this node once it has started: taints that pass by themselves
// (of the node's conditions, and while it starts) are not counted, since the pod comes after them.
func (d *Daemon) Matches(n *Node) bool {
	if d.Node != "" && d.Node != n.Name {
		return false
	}
	if ok, err := d.Ask.required.Match(n.Object); !ok || err != nil {
		return false
	}
	for i := range n.Object.Spec.Taints {
		t := &n.Object.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule || passing(t) {
			continue
		}
		if !tolerates(d.Ask, t) {
			return false
		}
	}
	return true
}

// passing taints go away without anybody's doing once a node is up.
func passing(t *corev1.Taint) bool {
	return t.Key == v1alpha1.StartingTaint || t.Key == v1alpha1.ReleasingTaint ||
		strings.HasPrefix(t.Key, "node.kubernetes.io/") || t.Key == "node.cloudprovider.kubernetes.io/uninitialized"
}

// DaemonRoom is what all matching DaemonSets will take of a node that carries none of their pods yet.
func DaemonRoom(daemons []*Daemon, n *Node) amount.Resources {
	var sum amount.Resources
	for _, d := range daemons {
		if d.Matches(n) {
			sum.Add(d.Ask.Requests)
		}
	}
	return sum
}

// same says whether two versions of a DaemonSet take the same room on the same nodes, and look the same to other pods.
func (d *Daemon) same(o *Daemon) bool {
	return d.Ask.Signature == o.Ask.Signature && d.Node == o.Node && d.Labels == o.Labels
}

// Pod is the pod that the DaemonSet will make, as far as rules see it. It waits for nobody.
func (d *Daemon) Pod() *Pod {
	return &Pod{Namespace: d.Namespace, Labels: d.Labels, Ask: d.Ask, UID: types.UID(d.Name), Priority: math.MaxInt32}
}
