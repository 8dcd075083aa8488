package lifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// keptNode is the Node open to pods, and annotated so that nothing of Muster's releases it.
func keptNode(node *corev1.Node) *corev1.Node {
	n := OpenNode(node)
	n.Annotations = merged(n.Annotations, map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"})
	return n
}

// handOver ends a claim whose node is kept as a plain node: the Node is opened and annotated, the claim goes, and the provider is not
// called. It returns false while, or when, that cannot be: the machine has no Node that is proven to be this claim's, is being given
// back, is being restarted, or still has what it joined with.
func (s *step) handOver() bool {
	if s.c.Annotations[v1alpha1.KeepNodeAnnotation] != "true" {
		return false
	}
	if s.is(v1alpha1.ConditionReleased) && s.reasonOf(v1alpha1.ConditionReleased) == ReasonKept {
		s.finish(s.c.Status.Message)
		return true
	}
	st := &s.c.Status
	if !slices.Contains([]v1alpha1.ClaimState{v1alpha1.ClaimReady, v1alpha1.ClaimDraining}, st.State) || st.Seeded ||
		st.Restart != nil && !st.Restart.Over() || s.o.Node == nil || !registered(s.o.Node, s.c) {
		return false
	}
	name := s.o.Node.Name
	if s.update(keptNode(s.o.Node)) {
		s.say("node " + name + " is being made a plain node")
		s.wake(lookAgain)
		return true
	}
	message := "node " + name + " is a plain node now, and its machine is the user's"
	s.yes(v1alpha1.ConditionReleased, ReasonKept, message)
	s.do(claimEvent(ReasonKept, message))
	s.finish(message)
	return true
}
