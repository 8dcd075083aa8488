package lifecycle

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// machine returns the machine that the provider last said this claim has, of whatever attempt.
func (s *step) machine() (provider.Machine, bool) {
	return s.o.Machine.Machine, s.o.Machine.Presence == Present
}

// current is the machine of the current attempt. One that contradicts the recorded identity is another machine.
func (s *step) current() (provider.Machine, bool) {
	m, ok := s.machine()
	id := s.c.Status.Identity
	if !ok || m.Attempt != s.c.Status.Attempts || id != nil && identity.Contradiction(*id, m.Identity) != "" {
		return provider.Machine{}, false
	}
	return m, true
}

// know takes over what the provider says of the machine of the current attempt.
func (s *step) know(m provider.Machine) {
	st := &s.c.Status
	if st.Identity == nil && identity.Unproven(m.Identity, m.Identity) == "" {
		st.Identity = &m.Identity
	}
	st.MachineID, st.Seeded = string(m.ID), m.Seeded
	for _, fact := range []struct {
		known *string
		said  string
	}{{&st.ProviderID, m.ProviderID}, {&st.SystemUUID, m.SystemUUID}, {&st.Host, m.Host}, {&st.Rack, m.Rack}, {&st.Zone, m.Zone}} {
		if fact.said != "" {
			*fact.known = fact.said
		}
	}
}

// contradicts reports whether the machine is another one than the claim has on record, and says so. What was recorded when the machine
// was first proven ours is kept.
func (s *step) contradicts(m provider.Machine) bool {
	id := s.c.Status.Identity
	if id == nil {
		return false
	}
	why := identity.Contradiction(*id, m.Identity)
	if why == "" {
		return false
	}
	s.block(&gate.Refusal{Act: gate.Delete, Reason: gate.ReasonIdentityMismatch, Subject: m.Subject(),
		Missing: []gate.Item{{Clause: "the identity is the recorded one", Found: why}}})
	return true
}

// accept begins the time that the machine has until its Node is ready.
func (s *step) accept() {
	st := &s.c.Status
	if st.LaunchedAt != nil {
		return
	}
	st.LaunchedAt = micro(s.now)
	st.Errors, st.NextAttempt = 0, nil
	s.yes(v1alpha1.ConditionLaunched, ReasonLaunched, "machine "+st.MachineID)
	s.tell(ReasonLaunched, fmt.Sprintf("provider %s is making machine %s", s.c.Spec.Provider, st.MachineID))
}

// refresh takes over what the provider now says of the current machine, such as the host it moved to.
func (s *step) refresh() {
	m, ok := s.machine()
	if !ok || m.Attempt != s.c.Status.Attempts {
		return
	}
	if !s.contradicts(m) {
		s.know(m)
	}
}

// absentSince reports whether the machine was proven absent by a look begun at t or later.
func (s *step) absentSince(t *metav1.MicroTime) bool {
	return s.o.Machine.Presence == Absent && s.o.Machine.since(t)
}

// look asks for the machine of the claim, unless it was asked for a moment ago.
func (s *step) look(every time.Duration) {
	if s.due(every) {
		s.do(Look{Machine: s.recorded()})
	}
}

// endedEarly releases a claim whose machine failed or vanished before its Node was ready.
func (s *step) endedEarly() bool {
	m, ok := s.current()
	switch {
	case ok && m.State == provider.StateFailed:
		s.release(ReasonFailed, fmt.Sprintf("machine %s failed: %s", m.ID, m.Message))
	case s.absentSince(s.c.Status.LaunchedAt):
		s.release(ReasonVanished, fmt.Sprintf("machine %s is gone before its node was ready", s.c.Status.MachineID))
	default:
		return false
	}
	return true
}

// overdue releases a claim that took longer than its registration timeout. A timeout of zero or less is none.
func (s *step) overdue() bool {
	timeout := s.c.Spec.RegistrationTimeout.Duration
	if timeout <= 0 || s.c.Status.LaunchedAt == nil {
		return false
	}
	left := timeout - s.passed(s.c.Status.LaunchedAt.Time)
	if left > 0 {
		s.wake(left)
		return false
	}
	if s.blockedAlready() {
		return true
	}
	s.release(ReasonTimeout, fmt.Sprintf("no ready node %s after the launch", timeout))
	return true
}

// lost releases a claim whose machine is proven gone, or given up by its provider, while its Node does not say
// otherwise. While a ready Node and the provider disagree, nothing is done.
func (s *step) lost() bool {
	if s.o.Node != nil && NodeReady(s.o.Node) {
		return false
	}
	m, ok := s.current()
	if givenUp := ok && m.State == provider.StateFailed; !givenUp && !s.absentSince(s.c.Status.LaunchedAt) {
		return false
	}
	s.release(ReasonLost, fmt.Sprintf("machine %s is gone", s.c.Status.MachineID))
	return true
}

// unseed has what the machine joined with taken away: its node is there, and so is everything that it was good for. That
// it does not succeed keeps no node from its pods; it is asked for again until it does.
func (s *step) unseed() bool {
	if !s.c.Status.Seeded {
		return false
	}
	every := unseedAgain
	if out := s.o.Outcome; out != nil && out.Err != nil {
		every = lookAgain
	}
	if s.due(every) {
		r := s.request()
		r.Joined = true
		s.do(Create{Request: r})
	}
	return true
}

// doubt asks the provider about the machine while its Node is missing or not ready.
func (s *step) doubt() {
	if s.o.Node == nil || !NodeReady(s.o.Node) {
		s.look(lookAgain)
	}
}
