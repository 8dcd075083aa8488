package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// PlainNode is the Node as a Node that Muster has nothing to do with any more: without our taints, our cordon, and the marks of
// its claim. What its pool's template gave it stays, the labels of pool and shape too: pods may select by them. It is
// marked to be kept, so that a Muster that finds its machine without a claim later leaves both alone.
func PlainNode(node *corev1.Node) *corev1.Node {
	n := OpenNode(node)
	delete(n.Labels, v1alpha1.ClaimLabel)
	delete(n.Annotations, v1alpha1.RegisteredAnnotation)
	n.Annotations = merged(n.Annotations, map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"})
	return n
}

// Marked says that a Node carries a mark of ours that PlainNode takes off.
func Marked(node *corev1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.MatchTaint(&startingTaint) || t.MatchTaint(&releasingTaint) {
			return true
		}
	}
	_, claimed := node.Labels[v1alpha1.ClaimLabel]
	_, registered := node.Annotations[v1alpha1.RegisteredAnnotation]
	_, cordoned := node.Annotations[v1alpha1.CordonedAnnotation]
	return claimed || registered || cordoned
}
