package lifecycle

import (
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// ErrState means that a claim is in a state that the table does not list, or that a row left for a state it may not
// leave for. The claim is returned as it was and nothing is to be performed.
var ErrState = errors.New("unlisted state")

// Result is what Step decided.
type Result struct {
	// Claim is a copy with the new status and finalizers, to be committed before the effects.
	Claim *v1alpha1.NodeClaim
	// Effects are to be performed in this order.
	Effects []Effect
	// Next is when to look again; 0 means on events only.
	Next time.Duration
	// Err is ErrState or nil.
	Err error
}

// Row is one state of the table: what happens in it, and where it may lead.
type Row struct {
	State v1alpha1.ClaimState
	To    []v1alpha1.ClaimState
	act   func(*step)
}

// Table lists the states in the order of a claim's life. docs/states.md has a heading for each row.
func Table() []Row {
	return []Row{
		{v1alpha1.ClaimPending, states(v1alpha1.ClaimLaunching), pending},
		{v1alpha1.ClaimLaunching, states(v1alpha1.ClaimJoining, v1alpha1.ClaimReleasing, v1alpha1.ClaimFailed), launching},
		{v1alpha1.ClaimJoining, states(v1alpha1.ClaimStarting, v1alpha1.ClaimReleasing), joining},
		{v1alpha1.ClaimStarting, states(v1alpha1.ClaimReady, v1alpha1.ClaimJoining, v1alpha1.ClaimDraining,
			v1alpha1.ClaimReleasing), starting},
		{v1alpha1.ClaimReady, states(v1alpha1.ClaimStarting, v1alpha1.ClaimDraining, v1alpha1.ClaimReleasing), ready},
		{v1alpha1.ClaimDraining, states(v1alpha1.ClaimReady, v1alpha1.ClaimStarting, v1alpha1.ClaimReleasing), draining},
		{v1alpha1.ClaimReleasing, states(v1alpha1.ClaimLaunching, v1alpha1.ClaimFailed), releasing},
		{v1alpha1.ClaimFailed, states(v1alpha1.ClaimReleasing), failed},
	}
}

func states(s ...v1alpha1.ClaimState) []v1alpha1.ClaimState { return s }

// Step says what a claim's next status is and what to do about it. An empty state counts as Pending. Transitions that
// ask for nothing are taken in one step, up to the first that does.
func Step(c *v1alpha1.NodeClaim, o Observed, now time.Time) Result {
	s := &step{c: c.DeepCopy(), o: o, now: now}
	if s.c.Status.State == "" {
		s.c.Status.State = v1alpha1.ClaimPending
	}
	s.keepFinalizer()
	s.rebase()
	s.hearGate()
	s.hear()
	if s.held() || s.handOver() {
		return Result{Claim: s.c, Effects: s.effects, Next: s.next}
	}
	table := Table()
	for range table {
		from := s.c.Status.State
		i := slices.IndexFunc(table, func(r Row) bool { return r.State == from })
		if i < 0 {
			return unlisted(c, fmt.Errorf("claim %s: state %q: %w", c.Name, from, ErrState))
		}
		table[i].act(s)
		to := s.c.Status.State
		if to == from {
			break
		}
		if !slices.Contains(table[i].To, to) {
			return unlisted(c, fmt.Errorf("claim %s: from %s to %s: %w", c.Name, from, to, ErrState))
		}
		if s.acted {
			break
		}
		s.next = 0
	}
	if s.c.Status.NextAttempt == nil {
		s.c.Status.WaitingSince = nil
	}
	return Result{Claim: s.c, Effects: s.effects, Next: s.next}
}

func unlisted(c *v1alpha1.NodeClaim, err error) Result { return Result{Claim: c.DeepCopy(), Err: err} }

// step is one run through the table.
type step struct {
	c       *v1alpha1.NodeClaim
	o       Observed
	now     time.Time
	effects []Effect
	acted   bool // an effect other than an event was asked for
	next    time.Duration
	refused bool // by the gate
	noNode  bool // it refuses that the Node is deleted
}

// hear takes in what the provider answered. A machine of another claim is no answer at all.
func (s *step) hear() {
	if out := s.o.Outcome; out != nil {
		heard := *out
		if heard.Err == nil && heard.Verb != VerbDelete && heard.Machine.ClaimUID != s.c.UID {
			heard.Err = fmt.Errorf("%s was answered with a machine of claim UID %q: %w", heard.Verb,
				heard.Machine.ClaimUID, provider.ErrUnknown)
		}
		s.o.Outcome = &heard
		s.o.Machine = s.o.Machine.After(heard)
		switch {
		case heard.reserved():
			s.c.Status.ReservedID, s.c.Status.LastError = string(heard.Machine.ID), ""
		case heard.Err == nil:
			s.c.Status.LastError = ""
		case !heard.absent():
			s.c.Status.LastError = cut(heard.Err.Error())
		}
	}
	if s.o.Machine.Presence == Present && s.o.Machine.Machine.ClaimUID != s.c.UID {
		s.o.Machine = Sighting{}
	}
}

// reserved says that an ID was chosen and nothing made.
func (o Outcome) reserved() bool { return o.Err == nil && o.Machine.State == provider.StateReserved }

// absent says that this call is the proof of absence.
func (o Outcome) absent() bool { return o.Verb != VerbCreate && errors.Is(o.Err, provider.ErrNotFound) }

// Failed says whether a call did not do what it was made for. That there is no machine is what Delete is called for.
func (o Outcome) Failed() bool { return o.Err != nil && (o.Verb != VerbDelete || !o.absent()) }

func (s *step) do(e Effect) {
	s.effects = append(s.effects, e)
	if _, ok := e.(Event); !ok {
		s.acted = true
	}
}

// wake asks for another look after d at the latest.
func (s *step) wake(d time.Duration) {
	d = max(d, time.Millisecond)
	if s.next == 0 || d < s.next {
		s.next = d
	}
}

// enter starts a new state with a clean slate of waits and errors.
func (s *step) enter(state v1alpha1.ClaimState, message string) {
	s.c.Status.State = state
	s.c.Status.NextAttempt = nil
	s.c.Status.Errors = 0
	s.say(message)
}

func (s *step) say(message string) { s.c.Status.Message = cut(message) }

// waiting reports whether the claim has to wait for its next attempt, and asks to be woken then.
func (s *step) waiting() bool {
	at := s.c.Status.NextAttempt
	if at == nil || !s.now.Before(at.Time) {
		return false
	}
	s.wake(at.Sub(s.now))
	return true
}

func (s *step) waitUntil(t time.Time) {
	s.c.Status.NextAttempt, s.c.Status.WaitingSince = micro(t), micro(s.now)
	s.wake(t.Sub(s.now))
}

// due reports whether the provider may be asked again, when it is asked every so often.
func (s *step) due(every time.Duration) bool {
	left := every - s.now.Sub(s.o.Asked)
	if s.o.Asked.IsZero() || left <= 0 {
		s.wake(every)
		return true
	}
	s.wake(left)
	return false
}

// retryLater counts a provider error and sets the time of the next attempt. It returns false when the last call, if
// any, was no error. That a machine can be looked at does not end a row of errors: what was asked for does.
func (s *step) retryLater() bool {
	out := s.o.Outcome
	if out == nil || out.absent() {
		return false
	}
	st := &s.c.Status
	if out.Err == nil {
		if out.Verb != VerbLook && st.Errors > 0 {
			st.Errors, st.NextAttempt = 0, nil
		}
		return false
	}
	st.Errors++
	again := s.now.Add(errorBackoff.Wait(int(st.Errors), string(s.c.UID)))
	if st.NextAttempt != nil && st.NextAttempt.After(again) {
		again = st.NextAttempt.Time // never earlier than it was to be
	}
	s.waitUntil(again)
	return true
}

// closing says that the claim is to go: deleted, or to be released.
func (s *step) closing() bool { return s.deleted() || s.c.Spec.Release != nil }

func (s *step) deleted() bool { return s.c.DeletionTimestamp != nil }

// micro is a time as the API server keeps it.
func micro(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.Truncate(time.Microsecond))
	return &m
}
