package capacity

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// Stage says where a node stands in its life.
type Stage int

// The stages of a node. Foreign nodes are always Open.
const (
	Open      Stage = iota
	Starting        // one of ours that is not initialized
	Releasing       // one of ours that is closed
)

// Node is a place for pods: a real node, the node a claim in flight will become, or a pool's blueprint. All three are
// judged by the same Fit. A Node in a View is never changed.
type Node struct {
	Name  string
	Pool  string // the pool of a node of ours
	Claim string // the claim of a node of ours
	Stage Stage

	// Object carries name, labels, taints, spec.unschedulable and the annotations that matter to its release; nothing else
	// of it is kept.
	Object *corev1.Node
	// Allocatable is what the kubelet offers (or will offer).
	Allocatable amount.Resources
	// Used is what bound pods take.
	Used amount.Resources
	// Held is what pods take that were sent here and are not seen bound.
	Held amount.Resources
	// Daemons is room set aside for DaemonSet pods that will come and are not there yet.
	Daemons amount.Resources
	// Reserved is room kept for the pods a machine was ordered for, while they are neither bound nor held.
	Reserved amount.Resources
}

// Free is what is left for a pod without a reservation; it may be negative.
func (n *Node) Free() amount.Resources {
	free := n.Allocatable.Clone()
	free.Sub(n.Used)
	free.Sub(n.Held)
	free.Sub(n.Daemons)
	free.Sub(n.Reserved)
	return free
}

// vacancy is Free in the kinds that every pod takes.
func (n *Node) vacancy() vacancy {
	free := n.room(&noAsk)
	return vacancy{cpu: free.MilliCPU, memory: free.Memory, pods: free.Pods}
}

var noAsk Ask

// room is Free in the kinds that a pod asks for; it makes no map where the pod needs none.
func (n *Node) room(a *Ask) amount.Resources {
	left := func(offered int64, taken ...int64) int64 {
		for _, t := range taken {
			offered = amount.Sum(offered, -t)
		}
		return offered
	}
	u, h, d, r := &n.Used, &n.Held, &n.Daemons, &n.Reserved
	free := amount.Resources{
		MilliCPU: left(n.Allocatable.MilliCPU, u.MilliCPU, h.MilliCPU, d.MilliCPU, r.MilliCPU),
		Memory:   left(n.Allocatable.Memory, u.Memory, h.Memory, d.Memory, r.Memory),
		Pods:     left(n.Allocatable.Pods, u.Pods, h.Pods, d.Pods, r.Pods),
	}
	if a.Requests.EphemeralStorage > 0 {
		free.EphemeralStorage = left(n.Allocatable.EphemeralStorage,
			u.EphemeralStorage, h.EphemeralStorage, d.EphemeralStorage, r.EphemeralStorage)
	}
	for name := range a.Requests.Scalar {
		free.Set(name, left(n.Allocatable.Scalar[name],
			u.Scalar[name], h.Scalar[name], d.Scalar[name], r.Scalar[name]))
	}
	return free
}

// slimNode keeps what judging a node needs, so that thousands of them stay small.
func slimNode(node *corev1.Node) *corev1.Node {
	slim := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, Labels: maps.Clone(node.Labels)},
		Spec: corev1.NodeSpec{
			Taints: node.Spec.Taints, Unschedulable: node.Spec.Unschedulable, ProviderID: node.Spec.ProviderID,
		},
	}
	for _, key := range keptAnnotations {
		if value, there := node.Annotations[key]; there {
			if slim.Annotations == nil {
				slim.Annotations = map[string]string{}
			}
			slim.Annotations[key] = value
		}
	}
	return slim
}

// keptAnnotations of a Node say whose it is, and matter when it is released.
var keptAnnotations = []string{
	v1alpha1.RegisteredAnnotation,
	v1alpha1.CordonedAnnotation, v1alpha1.DoNotReleaseAnnotation, v1alpha1.ScaleDownDisabledAnnotation, v1alpha1.DoNotDisruptAnnotation,
}

func hasTaint(taints []corev1.Taint, key string) bool {
	for i := range taints {
		if taints[i].Key == key {
			return true
		}
	}
	return false
}

// Unreserved is the room of a node with what is reserved on it.
func (n *Node) Unreserved() amount.Resources { return n.Free().Plus(n.Reserved) }

// Avoidable says whether a node has a taint that pods avoid if they can.
func (n *Node) Avoidable() bool {
	for i := range n.Object.Spec.Taints {
		if n.Object.Spec.Taints[i].Effect == corev1.TaintEffectPreferNoSchedule {
			return true
		}
	}
	return false
}
