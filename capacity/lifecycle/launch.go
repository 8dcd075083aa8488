package lifecycle

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// pending records the intent. Nothing was asked of the provider yet, so a claim that is to go may go at once.
func pending(s *step) {
	if s.closing() {
		s.finish("no machine was ordered")
		return
	}
	for _, condition := range []string{v1alpha1.ConditionRegistered, v1alpha1.ConditionInitialized,
		v1alpha1.ConditionReady, v1alpha1.ConditionDraining, v1alpha1.ConditionReleased} {
		s.no(condition, ReasonWaiting, "")
	}
	s.order(1)
	s.tell(ReasonOrdered, s.c.Status.Message)
}

// order begins an attempt.
func (s *step) order(attempt int32) {
	s.enter(v1alpha1.ClaimLaunching, fmt.Sprintf("ordering a machine of shape %s from provider %s, attempt %d of %d",
		s.c.Spec.Shape, s.c.Spec.Provider, attempt, max(attempt, s.c.Spec.MaxAttempts)))
	st := &s.c.Status
	st.Attempts = attempt
	st.ReservedID, st.MachineID, st.ProviderID, st.SystemUUID, st.Host, st.Rack, st.Zone, st.NodeName = "", "", "", "", "", "", "", ""
	st.LaunchedAt, st.RegisteredAt, st.ReadyAt = nil, nil, nil
	st.Identity, st.NodeUID = nil, ""
	st.Seeded = false
	meta.RemoveStatusCondition(&st.Conditions, v1alpha1.ConditionLaunched) // an order has its own time
	s.no(v1alpha1.ConditionLaunched, ReasonOrdered, st.Message)
}

func launching(s *step) {
	s.refresh()
	switch {
	case s.c.Status.MachineID != "" && s.o.Node != nil && s.o.NodeBy != identity.ByName:
		s.accept()
		s.join()
	case s.closing():
		s.release(s.closingReason(), "the claim is to go before its machine has a node")
	case s.c.Status.MachineID == "":
		ordering(s)
	default:
		making(s)
	}
}

// ordering asks for the machine until the provider's answer is certain. After an error it looks before it asks again.
func ordering(s *step) {
	if s.givenUp() {
		return
	}
	if s.postponed() {
		return
	}
	if s.retryLater() {
		if s.unanswered() {
			return
		}
		s.no(v1alpha1.ConditionLaunched, ReasonUnanswered, s.c.Status.LastError)
		s.say(fmt.Sprintf("provider %s has not confirmed the machine, errors in a row: %d; asking again: %s",
			s.c.Spec.Provider, s.c.Status.Errors, s.c.Status.LastError))
		return
	}
	if m, ok := s.machine(); ok {
		s.say(fmt.Sprintf("machine %s of attempt %d has to go before attempt %d", m.ID, m.Attempt, s.c.Status.Attempts))
		if s.due(deleteAgain) {
			s.do(Delete{Machine: m})
		}
		return
	}
	if s.waiting() {
		return
	}
	if s.c.Status.Errors > 0 && !s.absentSince(s.c.Status.NextAttempt) {
		s.do(Look{Machine: s.recorded()})
		return
	}
	s.do(Create{Request: s.request()})
}

// givenUp ends a claim whose order the provider declined; such an answer means that nothing was made.
func (s *step) givenUp() bool {
	out := s.o.Outcome
	if out == nil || out.Verb != VerbCreate {
		return false
	}
	switch {
	case errors.Is(out.Err, provider.ErrNoCapacity):
		s.fail(ReasonNoCapacity, fmt.Sprintf("provider %s has no room for shape %s: %v", s.c.Spec.Provider,
			s.c.Spec.Shape, out.Err), NoCapacityKept)
	case errors.Is(out.Err, provider.ErrRefused), errors.Is(out.Err, provider.ErrMisconfigured):
		s.fail(ReasonRefused, fmt.Sprintf("provider %s refuses to make shape %s: %v", s.c.Spec.Provider,
			s.c.Spec.Shape, out.Err), FailedKept)
	default:
		return false
	}
	return true
}

// unanswered gives an order up that the provider could not be asked about for as long as a machine may take. The pods are free
// for other pools then; the claim stays, and counts, until it is proven that nothing was made.
func (s *step) unanswered() bool {
	timeout := s.c.Spec.RegistrationTimeout.Duration
	if timeout <= 0 || s.orderedFor() < timeout {
		return false
	}
	s.release(ReasonUnanswered, fmt.Sprintf("provider %s has not confirmed the machine for %s: %s", s.c.Spec.Provider, timeout,
		s.c.Status.LastError))
	return true
}

// orderedFor is how long ago the current attempt was ordered.
func (s *step) orderedFor() time.Duration {
	ordered := meta.FindStatusCondition(s.c.Status.Conditions, v1alpha1.ConditionLaunched)
	if ordered == nil {
		return 0
	}
	return s.passed(ordered.LastTransitionTime.Time)
}

// postponed asks again later where the provider did nothing because of other work. That is no error: there is nothing to look
// for, and the wait grows with the age of the order only, so that a turn is taken soon after it comes.
func (s *step) postponed() bool {
	out := s.o.Outcome
	if out == nil || out.Verb != VerbCreate || !errors.Is(out.Err, provider.ErrBusy) {
		return false
	}
	s.c.Status.Errors = 0
	s.waitUntil(s.now.Add(launchLook(s.orderedFor())))
	s.say(fmt.Sprintf("provider %s is busy; asking again: %s", s.c.Spec.Provider, s.c.Status.LastError))
	return true
}

// making waits for the accepted machine to run.
func making(s *step) {
	s.accept()
	m, _ := s.current()
	switch {
	case s.endedEarly():
	case m.State == provider.StateRunning:
		s.join()
	case s.overdue():
	case m.State == provider.StatePending:
		s.proceed()
	default:
		s.say(fmt.Sprintf("provider %s is making machine %s%s", s.c.Spec.Provider, s.c.Status.MachineID, s.where()))
		s.look(launchLook(s.now.Sub(s.c.Status.LaunchedAt.Time)))
	}
}

// proceed asks for what is still to be asked for of a machine that is there. An answer that it is impossible goes the way
// of a machine that failed.
func (s *step) proceed() {
	if s.postponed() {
		return
	}
	failed := s.retryLater()
	s.say(fmt.Sprintf("provider %s is making machine %s%s", s.c.Spec.Provider, s.c.Status.MachineID, s.where()))
	if failed {
		s.say(s.c.Status.Message + ": " + s.c.Status.LastError)
	}
	if s.waiting() {
		return
	}
	if s.due(launchLookFirst) {
		s.do(Create{Request: s.request()})
	}
}

func (s *step) join() {
	s.enter(v1alpha1.ClaimJoining, fmt.Sprintf("machine %s runs%s, waiting for its node", s.c.Status.MachineID, s.where()))
}

func (s *step) request() provider.Request {
	c := s.c
	return provider.Request{
		Claim: c.Name, ClaimUID: c.UID, Attempt: c.Status.Attempts, Pool: c.Spec.Pool, Shape: c.Spec.Shape,
		ID: provider.ID(c.Status.ReservedID), Keep: c.Spec.Keep, Hosts: c.Spec.Hosts.DeepCopy(),
		Resources: c.Spec.Resources.DeepCopy(), Overhead: c.Spec.Overhead.DeepCopy(), Proxmox: c.Spec.Proxmox.DeepCopy(),
	}
}

func (s *step) where() string {
	if s.c.Status.Host == "" {
		return ""
	}
	return " on host " + s.c.Status.Host
}
