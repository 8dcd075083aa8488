package lifecycle

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/muster-sh/muster/api/v1alpha1"
)

var (
	startingTaint  = corev1.Taint{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule}
	cordonTaint    = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	releasingTaint = corev1.Taint{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule}
)

// update asks for the Node to be as wanted and reports whether it is not.
func (s *step) update(want *corev1.Node) bool { return s.updateNode(s.o.Node, want) }

func (s *step) updateNode(old, want *corev1.Node) bool {
	if equality.Semantic.DeepEqual(old, want) {
		return false
	}
	s.do(UpdateNode{Old: old, New: want})
	return true
}

// updateAll asks for every Node of the machine to be as wanted and reports whether one is not.
func (s *step) updateAll(want func(*corev1.Node) *corev1.Node) (some bool) {
	if s.o.Node != nil {
		some = s.update(want(s.o.Node))
	}
	for _, n := range s.o.Others {
		some = s.updateNode(n, want(n)) || some
	}
	return some
}

func registered(node *corev1.Node, c *v1alpha1.NodeClaim) bool {
	return node.Annotations[v1alpha1.RegisteredAnnotation] == string(c.UID)
}

// registeredNode is the Node with everything its claim says of it, and still starting. It names what was left out.
func registeredNode(node *corev1.Node, c *v1alpha1.NodeClaim) (*corev1.Node, []string) {
	labels, badLabels := filled("label", c.Spec.Labels, c)
	annotations, badAnnotations := filled("annotation", c.Spec.Annotations, c)
	labels[v1alpha1.PoolLabel] = c.Spec.Pool
	labels[v1alpha1.ClaimLabel] = c.Name
	labels[v1alpha1.ShapeLabel] = c.Spec.Shape
	annotations[v1alpha1.RegisteredAnnotation] = string(c.UID)
	annotations[v1alpha1.ProviderAnnotation] = c.Spec.Provider

	n := startingNode(node)
	n.Labels = merged(n.Labels, labels)
	n.Annotations = merged(n.Annotations, annotations)
	for _, t := range slices.Concat(c.Spec.Taints, c.Spec.StartupTaints) {
		n.Spec.Taints = withTaint(n.Spec.Taints, t)
	}
	return n, append(badLabels, badAnnotations...)
}

// startingNode is the Node closed to pods because something is still missing.
func startingNode(node *corev1.Node) *corev1.Node {
	n := node.DeepCopy()
	n.Spec.Taints = withTaint(n.Spec.Taints, startingTaint)
	return n
}

// OpenNode is the Node without our taints and without our cordon; a cordon that somebody else set stays. The taint that
// kube-controller-manager adds to a cordoned Node goes with the cordon: it would take it off itself, but only after a while,
// and until then no pod fits.
func OpenNode(node *corev1.Node) *corev1.Node {
	n := node.DeepCopy()
	n.Spec.Taints = withoutTaint(withoutTaint(n.Spec.Taints, startingTaint), releasingTaint)
	if _, ours := n.Annotations[v1alpha1.CordonedAnnotation]; ours {
		delete(n.Annotations, v1alpha1.CordonedAnnotation)
		n.Spec.Unschedulable = false
		n.Spec.Taints = withoutTaint(n.Spec.Taints, cordonTaint)
	}
	return n
}

// closedNode is the Node with our releasing taint and a cordon, marked as ours unless it was there before.
func closedNode(node *corev1.Node) *corev1.Node {
	n := node.DeepCopy()
	n.Spec.Taints = withTaint(n.Spec.Taints, releasingTaint)
	if !n.Spec.Unschedulable {
		n.Spec.Unschedulable = true
		n.Annotations = merged(n.Annotations, map[string]string{v1alpha1.CordonedAnnotation: "true"})
	}
	return n
}

// withTaint returns the taints with t among them; a taint is known by its key and effect.
func withTaint(taints []corev1.Taint, t corev1.Taint) []corev1.Taint {
	if slices.ContainsFunc(taints, func(on corev1.Taint) bool { return on.MatchTaint(&t) }) {
		return taints
	}
	return append(taints, t)
}

func withoutTaint(taints []corev1.Taint, t corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(taints, func(on corev1.Taint) bool { return on.MatchTaint(&t) })
}

func merged(into, from map[string]string) map[string]string {
	if into == nil {
		into = make(map[string]string, len(from))
	}
	maps.Copy(into, from)
	return into
}

// NodeReady reports whether a Node says that it is ready.
func NodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
