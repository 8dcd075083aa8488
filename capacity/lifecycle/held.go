package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// heldAgain is how soon a claim that is held is looked at again.
const heldAgain = 30 * time.Second

// held keeps the machine of a claim that is being deleted only because its definition is, or perhaps is: the deletion of a
// CustomResourceDefinition deletes every object of its kind and cannot be taken back, and no one asked for the machines to
// go. Nothing is asked for while it holds. A claim whose machine was proven gone before ends as ever.
func (s *step) held() bool {
	told := s.reasonOf(v1alpha1.ConditionReleaseBlocked) == ReasonHeld
	if s.o.Held == "" || !s.deleted() || s.is(v1alpha1.ConditionReleased) {
		if told {
			s.no(v1alpha1.ConditionReleaseBlocked, ReasonNotHeld, "the claim's definition stands")
		}
		return false
	}
	message := "machine and node are kept: " + s.o.Held
	if !told || !s.is(v1alpha1.ConditionReleaseBlocked) {
		s.do(Event{Type: corev1.EventTypeWarning, Reason: ReasonHeld, Message: message})
	}
	s.yes(v1alpha1.ConditionReleaseBlocked, ReasonHeld, message)
	s.say(message)
	s.wake(heldAgain)
	return true
}
