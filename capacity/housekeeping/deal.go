package housekeeping

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// What an orphan that the API server has no claim of comes to.
const (
	Fence     Standing = "Fencing"   // its Node is to be tainted and cordoned first
	Busy      Standing = "Busy"      // pods run on its Node: fenced and told, never removed under them
	Protected Standing = "Protected" // somebody asked for its Node to be kept
	Remove    Standing = "Removing"  // nothing of it is in use: to be given back
)

// Standings lists them all.
var Standings = []Standing{Suspected, Unidentified, Orphaned, Fence, Busy, Protected, Remove}

// Scene is what was seen of an orphan after the API server said that it has no claim. Nodes are those that are its own and
// no claim's; Pods are what was bound to them, or to the machine's name, in a read past every cache.
type Scene struct {
	Orphan Orphan
	Nodes  []*corev1.Node
	Pods   []lifecycle.PodOnNode
}

// Deal says what is to be done about an orphan now.
func Deal(s Scene) Standing {
	switch {
	case s.Orphan.Standing != Orphaned:
		return s.Orphan.Standing
	case slices.ContainsFunc(s.Nodes, kept):
		return Protected
	case slices.ContainsFunc(s.Nodes, func(n *corev1.Node) bool { return !Fenced(n) }):
		return Fence
	case len(s.Pods) > 0:
		return Busy
	}
	return Remove
}

func kept(n *corev1.Node) bool {
	return slices.ContainsFunc([]string{
		v1alpha1.DoNotReleaseAnnotation, v1alpha1.ScaleDownDisabledAnnotation, v1alpha1.DoNotDisruptAnnotation,
	}, func(key string) bool { return n.Annotations[key] == "true" })
}

// Fenced says that no scheduler sends pods to the Node any more.
func Fenced(n *corev1.Node) bool {
	return n.Spec.Unschedulable && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == v1alpha1.ReleasingTaint && t.Effect == corev1.TaintEffectNoSchedule
	})
}
