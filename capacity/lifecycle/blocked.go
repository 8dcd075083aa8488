package lifecycle

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/gate"
)

// gateAgain is how soon the gate is asked again after it refused.
const gateAgain = 5 * time.Second

// hearGate takes in what the gate said of the last act. A refusal is no answer of the provider: nothing was asked of it.
func (s *step) hearGate() {
	refusal := s.o.Refused
	if out := s.o.Outcome; out != nil && errors.As(out.Err, &refusal) {
		s.o.Outcome = nil
	}
	switch {
	case refusal != nil:
		s.block(refusal)
	case s.o.Proven && s.is(v1alpha1.ConditionReleaseBlocked):
		s.no(v1alpha1.ConditionReleaseBlocked, "Proven", "")
	}
}

// block tells why an act is not done, once for each reason, and what a person can do about it.
func (s *step) block(refusal *gate.Refusal) {
	s.refused, s.noNode = true, refusal.Act == gate.DeleteNode
	message := refusal.Error()
	if refusal.Act == gate.Delete || refusal.Act == gate.Stop {
		message += "; if the machine is gone for good: muster confirm-gone " + s.c.Name
	}
	old := meta.FindStatusCondition(s.c.Status.Conditions, v1alpha1.ConditionReleaseBlocked)
	if old == nil || old.Status != metav1.ConditionTrue || old.Reason != refusal.Reason {
		s.do(Event{Type: corev1.EventTypeWarning, Reason: refusal.Reason, Message: cut(message)})
	}
	s.yes(v1alpha1.ConditionReleaseBlocked, refusal.Reason, message)
	s.wake(gateAgain)
}

// kept says that the machine stays for now because the gate refused, and what it waits for.
func (s *step) kept() bool {
	if !s.refused {
		return false
	}
	c := meta.FindStatusCondition(s.c.Status.Conditions, v1alpha1.ConditionReleaseBlocked)
	s.say(fmt.Sprintf("machine %s is kept: %s", s.c.Status.MachineID, c.Message))
	return true
}

// blockedAlready keeps a machine whose time is over where it is known already that the gate would refuse: a Node that
// may be this machine is another claim's as well, or pods are bound there. The claim is not released until neither is so.
func (s *step) blockedAlready() bool {
	refusal := &gate.Refusal{Act: gate.Delete, Subject: s.recorded().Subject()}
	switch {
	case s.o.Ambiguous != "":
		refusal.Reason, refusal.Missing = gate.ReasonIdentityAmbiguous, []gate.Item{{Clause: "each Node belongs to this machine alone", Found: s.o.Ambiguous}}
	case len(s.o.Pods) > 0:
		refusal.Reason = gate.ReasonPodsOnNode
		refusal.Missing = []gate.Item{{Clause: "no pod is left", Found: "pods are bound there: " + s.stayers()}}
	default:
		return false
	}
	s.block(refusal)
	return s.kept()
}

// unblock takes back that a release is refused, where none is asked for any more.
func (s *step) unblock() {
	if !s.refused && s.is(v1alpha1.ConditionReleaseBlocked) {
		s.no(v1alpha1.ConditionReleaseBlocked, "NotAsked", "")
	}
}
