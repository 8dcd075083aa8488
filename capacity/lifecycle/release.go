package lifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// release begins to give the machine back. From here on it goes, whatever happens to the claim.
func (s *step) release(reason, message string) {
	unheard := s.c.Status.MachineID == ""
	s.enter(v1alpha1.ClaimReleasing, message)
	if unheard {
		// A creation that was never answered may still be carried out: what counts is a look after it is too late.
		s.waitUntil(s.now.Add(lateCreate))
	}
	s.no(v1alpha1.ConditionReady, reason, message)
	s.no(v1alpha1.ConditionReleased, reason, message)
	if capacity.CameToNothing(reason) {
		s.no(v1alpha1.ConditionLaunched, reason, message) // since when its pods wait for the next one
	}
	if slices.Contains([]string{ReasonTimeout, ReasonFailed, ReasonVanished, ReasonLost, ReasonNodeLost, ReasonLeftOver,
		ReasonUnanswered}, reason) {
		s.do(Event{Type: corev1.EventTypeWarning, Reason: reason, Message: s.c.Status.Message})
	}
}

// mayRelaunch says that the machine is given back because it did not come up, and not because the claim is to go.
func (s *step) mayRelaunch() bool {
	return !s.closing() && capacity.CameToNothing(s.reasonOf(v1alpha1.ConditionReleased))
}

// losePatience lets the pods of a machine that did not come up go to others when it is not proven gone after a while. The claim
// is not launched again then: it would be a second machine for the same pods.
func (s *step) losePatience() {
	launched := meta.FindStatusCondition(s.c.Status.Conditions, v1alpha1.ConditionLaunched)
	if !capacity.Relaunches(s.c) || launched == nil || launched.Status == metav1.ConditionTrue || s.provenGone() {
		return
	}
	if left := goesWithin - s.passed(launched.LastTransitionTime.Time); left > 0 {
		s.wake(left)
		return
	}
	why := fmt.Sprintf("machine %s is not gone after %s", s.c.Status.MachineID, goesWithin)
	s.no(v1alpha1.ConditionReleased, ReasonStuck, why)
	s.do(Event{Type: corev1.EventTypeWarning, Reason: ReasonStuck, Message: why + "; its pods are free for other machines"})
}

func releasing(s *step) {
	if s.is(v1alpha1.ConditionReleased) {
		s.finish(s.c.Status.Message)
		return
	}
	s.refresh()
	s.confirmed()
	s.fence()
	failed := s.retryLater()
	m, present := s.machine()
	if out := s.o.Outcome; out != nil && out.Verb == VerbDelete && out.absent() {
		s.c.Status.Seeded = false
	}
	s.losePatience()
	switch {
	case s.kept():
	case failed:
		s.say(fmt.Sprintf("provider %s has not confirmed that machine %s is gone, errors in a row: %d; asking again: %s",
			s.c.Spec.Provider, s.c.Status.MachineID, s.c.Status.Errors, s.c.Status.LastError))
	case !present && s.provenGone() && !s.c.Status.Seeded:
		s.gone()
	case present && s.c.Status.Errors == 0:
		s.giveBack(m)
	case s.waiting():
	case present && s.o.Machine.since(s.c.Status.NextAttempt):
		s.giveBack(m)
	case s.c.Status.Seeded && s.absentSince(s.c.Status.NextAttempt):
		s.giveBack(s.recorded()) // the machine is gone, not what it was to join with
	case s.c.Status.MachineID == "" || s.c.Status.Errors > 0:
		s.look(deleteAgain)
	default:
		s.giveBack(s.recorded())
	}
}

// fence keeps pods off a Node that is still there, or joined late: its machine is going.
func (s *step) fence() {
	if _, present := s.machine(); s.hasNode() && (present || !s.provenGone()) {
		s.updateAll(closedNode)
	}
}

// hasNode says that the Node is this claim's by more than the name its machine was to have.
func (s *step) hasNode() bool {
	return s.o.Node != nil && (s.o.NodeBy != identity.ByName || s.o.Node.Name == s.c.Status.NodeName)
}

// since reports whether the sighting comes from a look begun at t or later.
func (s Sighting) since(t *metav1.MicroTime) bool {
	return s.Presence != Unseen && (t == nil || !s.At.Before(t.Time))
}

// provenGone reports whether the provider proved that there is no machine. The proof is kept in the claim.
func (s *step) provenGone() bool {
	if s.reasonOf(v1alpha1.ConditionLaunched) == ReasonGone {
		return true
	}
	if s.c.Status.MachineID == "" && !s.absentSince(s.c.Status.NextAttempt) {
		return false
	}
	return s.absentSince(s.c.Status.LaunchedAt)
}

// reasonConfirmedWord is that of ReleaseBlocked after a person's word was taken.
const reasonConfirmedWord = "Confirmed"

// confirmed takes a person's word that the machine is gone, which the gate has accepted: it is good for this attempt alone.
func (s *step) confirmed() {
	if s.o.Untaken != "" {
		s.block(&gate.Refusal{Act: gate.Delete, Subject: s.recorded().Subject(), Reason: "WordNotTaken",
			Missing: []gate.Item{{Clause: "a person's word", Found: s.o.Untaken}}})
		s.refused = false // the readings are tried all the same
	}
	if s.o.Confirmed == "" {
		return
	}
	s.o.Machine, s.o.Outcome = Sighting{Presence: Absent, At: s.now}, nil
	s.refused = s.noNode // the word is about the machine alone
	if s.reasonOf(v1alpha1.ConditionLaunched) == ReasonGone {
		return
	}
	s.c.Status.Errors, s.c.Status.NextAttempt, s.c.Status.Seeded = 0, nil, false
	message := fmt.Sprintf("machine %s is gone, by the word of %s", s.c.Status.MachineID, s.o.Confirmed)
	s.no(v1alpha1.ConditionLaunched, ReasonGone, message)
	s.no(v1alpha1.ConditionReleaseBlocked, reasonConfirmedWord, message)
	s.do(Event{Type: corev1.EventTypeWarning, Reason: ReasonConfirmed, Message: message})
}

func (s *step) giveBack(m provider.Machine) {
	s.say(fmt.Sprintf("provider %s takes machine %s back", s.c.Spec.Provider, m.ID))
	if s.due(deleteAgain) {
		s.do(Delete{Machine: m})
	}
}

// recorded is the machine as the claim remembers it.
func (s *step) recorded() provider.Machine { return Recorded(s.c) }

// Recorded is the machine as a claim remembers it.
func Recorded(c *v1alpha1.NodeClaim) provider.Machine {
	st := c.Status
	id := st.MachineID
	if id == "" {
		id = st.ReservedID
	}
	return provider.Machine{ID: provider.ID(id), Claim: c.Name, ClaimUID: c.UID, Attempt: st.Attempts,
		ProviderID: st.ProviderID, SystemUUID: st.SystemUUID, Host: st.Host, Rack: st.Rack, Zone: st.Zone, Seeded: st.Seeded}
}

// gone cleans up after a machine that is proven gone. A Node that joined in the machine's last moment is waited for, so
// that its object goes too.
func (s *step) gone() {
	st := &s.c.Status
	if s.reasonOf(v1alpha1.ConditionLaunched) != ReasonGone {
		st.Errors, st.NextAttempt = 0, nil
		s.no(v1alpha1.ConditionLaunched, ReasonGone, "the provider has no machine of this claim")
		if st.MachineID != "" && st.NodeName == "" {
			s.waitUntil(s.now.Add(lateNode))
		}
	}
	switch {
	case s.hasNode():
		s.say("the machine is gone, deleting node " + s.o.Node.Name)
		s.do(DeleteNode{Name: s.o.Node.Name, UID: s.o.Node.UID, Machine: s.recorded()})
		s.wake(lookAgain)
	case s.waiting():
	case s.mayRelaunch():
		s.relaunch()
	default:
		s.finish("the machine is gone")
	}
}

// relaunch begins the next attempt, or gives up.
func (s *step) relaunch() {
	st := &s.c.Status
	why := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReleased)
	if st.Attempts >= s.c.Spec.MaxAttempts {
		s.fail(why.Reason, fmt.Sprintf("gave up after %d attempts: %s", st.Attempts, why.Message), FailedKept)
		return
	}
	wait := relaunchBackoff(st.Attempts)
	s.no(v1alpha1.ConditionRegistered, ReasonWaiting, "")
	s.no(v1alpha1.ConditionInitialized, ReasonWaiting, "")
	s.order(st.Attempts + 1)
	s.waitUntil(s.now.Add(wait))
}

// fail keeps a claim without a machine for its reason.
func (s *step) fail(reason, message string, kept time.Duration) {
	s.enter(v1alpha1.ClaimFailed, message)
	s.waitUntil(s.now.Add(kept))
	s.no(v1alpha1.ConditionLaunched, reason, message)
	s.no(v1alpha1.ConditionReady, reason, message)
	s.warn(reason, message)
}

// failed keeps the reason for a while. That nothing was made is true of the last call only: an earlier one that was
// never answered may have worked, so the claim leaves by way of a look.
func failed(s *step) {
	_, present := s.machine()
	switch {
	case present:
		s.release(ReasonLeftOver, "a machine of this claim was found")
	case s.closing():
		s.release(s.closingReason(), s.c.Status.Message)
	case s.waiting():
	default:
		s.release(ReasonExpired, s.c.Status.Message)
		s.waitUntil(s.now) // any late creation was carried out long ago
	}
}

// finish lets the claim go: nothing of it is left.
func (s *step) finish(message string) {
	s.say(message)
	if !s.is(v1alpha1.ConditionReleased) {
		s.yes(v1alpha1.ConditionReleased, ReasonReleased, message)
		s.do(claimEvent(ReasonReleased, message))
	}
	if !s.deleted() {
		s.do(DeleteClaim{Name: s.c.Name, UID: s.c.UID})
	}
	s.do(RemoveFinalizer{Name: s.c.Name, UID: s.c.UID})
}

func claimEvent(reason, message string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: message}
}
