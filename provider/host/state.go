package host

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// ErrState means that a host is in a state that the table does not list, or that a row left for one it may not leave for.
// The host is returned as it was and nothing is to be performed.
var ErrState = errors.New("unlisted state")

// Event is something to record on a host.
type Event struct {
	Type, Reason, Message string
}

// Result is what Step decided. The loop writes the host's status first, where it changed, and makes the call only when
// that was accepted.
type Result struct {
	Host   *v1alpha1.Host
	Call   Call
	Events []Event
	// Next is when to look again; 0 means when something changes.
	Next time.Duration
	Err  error
}

// Row is one state of the table: what happens in it, and where it may lead.
type Row struct {
	State v1alpha1.HostState
	To    []v1alpha1.HostState
	act   func(*step)
}

// Table lists the states in the order of a host's service. docs/hosts.md has a heading for each row. A claim takes a host
// from Off to PoweringOn, and its release from any state that has a claim to PoweringOff; a stop takes one that serves to
// Stopping, and its next start from Stopped to PoweringOn. All of these are verbs of Provider.
func Table() []Row {
	to := func(s ...v1alpha1.HostState) []v1alpha1.HostState { return s }
	return []Row{
		{v1alpha1.HostOff, to(v1alpha1.HostQuarantined), off},
		{v1alpha1.HostPoweringOn, to(v1alpha1.HostJoining, v1alpha1.HostError), poweringOn},
		{v1alpha1.HostJoining, to(v1alpha1.HostReady, v1alpha1.HostDraining, v1alpha1.HostError), serving},
		{v1alpha1.HostReady, to(v1alpha1.HostDraining, v1alpha1.HostError), serving},
		{v1alpha1.HostDraining, to(v1alpha1.HostReady, v1alpha1.HostError), serving},
		{v1alpha1.HostStopping, to(v1alpha1.HostStopped, v1alpha1.HostError), stopping},
		{v1alpha1.HostStopped, nil, stopped},
		{v1alpha1.HostPoweringOff, to(v1alpha1.HostOff, v1alpha1.HostQuarantined), poweringOff},
		{v1alpha1.HostError, nil, failed},
		{v1alpha1.HostQuarantined, to(v1alpha1.HostOff), quarantined},
	}
}

// Step says what a host's next status is and which call is to be made. It reads no clock, client or log.
func Step(h *v1alpha1.Host, o Observed, rules Rules, now time.Time) Result {
	s := &step{h: h.DeepCopy(), o: o, rules: rules, now: now}
	s.st().State = state(h)
	s.rebase()
	s.hear()
	s.hearOperator()
	s.giveUpDouble()
	table := Table()
	for range table {
		from := s.st().State
		i := slices.IndexFunc(table, func(r Row) bool { return r.State == from })
		if i < 0 {
			return Result{Host: h.DeepCopy(), Err: fmt.Errorf("host %s: state %q: %w", h.Name, from, ErrState)}
		}
		table[i].act(s)
		if s.st().State == from {
			break
		}
		if !slices.Contains(table[i].To, s.st().State) {
			return Result{Host: h.DeepCopy(), Err: fmt.Errorf("host %s: from %s to %s: %w", h.Name, from, s.st().State, ErrState)}
		}
		s.next = 0
	}
	return Result{Host: s.h, Call: s.call, Events: s.events, Next: s.next}
}

// step is one run through the table.
type step struct {
	h      *v1alpha1.Host
	o      Observed
	rules  Rules
	now    time.Time
	call   Call
	events []Event
	next   time.Duration

	failure error   // of the power operation just made
	denied  *Denied // the gate did not permit it
	// returned says that an operator returns the host while it is given back.
	returned bool
}

func (s *step) st() *v1alpha1.HostStatus { return &s.h.Status }

// hear takes in what the switch answered. An operation that was not carried out is no try.
func (s *step) hear() {
	s.st().Power = powerText(s.o.Look)
	if uuid := s.o.Look.Reading.SystemUUID; uuid != "" {
		s.st().SystemUUID = uuid
	}
	if c, st := s.o.Claim, s.st(); c != nil && st.Claim != nil && c.NodeName != "" {
		st.Claim.NodeName, st.Claim.NodeUID = c.NodeName, c.NodeUID
	}
	out := s.o.Outcome
	if out == nil {
		return
	}
	var another *Another
	switch {
	case errors.As(out.Err, &another):
		s.meet(another)
	case errors.As(out.Err, &s.denied):
	case out.Call == CallRead && out.Err == nil:
		s.identify(out.Reading)
	}
	switch {
	case out.Err == nil || errors.Is(out.Err, ErrNoShutdown):
		s.st().Errors, s.st().LastError = 0, cut(out.Reading.Failed)
	case s.denied != nil: // nothing is wrong with the switch
	default:
		s.st().Errors++
		s.st().LastError = cut(out.Err.Error())
	}
	if out.Call == CallRead {
		return
	}
	s.notSwitchedOn(out)
	s.failure = out.Err
	if out.Call == CallClear {
		s.cleared(out.Err)
	}
	if errors.Is(out.Err, provider.ErrBusy) && out.Call != CallClear {
		s.st().Tries = max(s.st().Tries-1, 0)
	}
}

// hearOperator notes the operator's annotation; only in quarantine it has an effect.
func (s *step) hearOperator() {
	said := s.h.Annotations[v1alpha1.ReturnHostAnnotation]
	if said == s.st().Returned {
		return
	}
	if s.st().State == v1alpha1.HostQuarantined && said != "" {
		s.st().Quarantine, s.st().Strikes, s.st().Errors = nil, 0, 0
		s.st().Identity, s.st().Met = nil, nil // the next reading says which machine it is from now on
	}
	if s.st().State == v1alpha1.HostPoweringOff && said != "" {
		s.returned = true
	}
	s.st().Returned = said
}

// giveUpDouble takes a claim away that another host had first.
func (s *step) giveUpDouble() {
	if s.o.Double && s.st().Claim != nil && s.st().State != v1alpha1.HostPoweringOff {
		giveBack(s.h, s.now)
		s.say("another host was claimed first for the same claim")
	}
}

func (s *step) enter(to v1alpha1.HostState, message string) {
	enter(s.h, to, message, s.now)
}

// enter begins a state with a clean slate.
func enter(h *v1alpha1.Host, to v1alpha1.HostState, message string, now time.Time) {
	st := &h.Status
	st.State, st.Since, st.Message = to, micro(now), cut(message)
	st.Tries, st.LastTry, st.Errors = 0, nil, 0
}

func (s *step) say(message string) { s.st().Message = cut(message) }

func (s *step) warn(reason, message string) {
	s.events = append(s.events, Event{Type: corev1.EventTypeWarning, Reason: reason, Message: cut(message)})
}

func (s *step) tell(reason, message string) {
	s.events = append(s.events, Event{Type: corev1.EventTypeNormal, Reason: reason, Message: cut(message)})
}

// wake asks for another look after d at the latest.
func (s *step) wake(d time.Duration) {
	d = max(d, time.Millisecond)
	if s.next == 0 || d < s.next {
		s.next = d
	}
}

// read asks for a reading, unless there was one a moment ago. While reads fail they become rarer.
func (s *step) read(every time.Duration) {
	if s.st().Errors > 0 {
		every = max(every, s.rules.backoff(s.st().Errors))
	}
	left := every - s.now.Sub(s.o.Look.Tried)
	if s.o.Look.Tried.IsZero() || left <= 0 {
		s.call = CallRead
		return
	}
	s.wake(left)
}

// readSince reports whether the host was read at t or later, and answered.
func (s *step) readSince(t *metav1.MicroTime) bool {
	l := s.o.Look
	return !l.Since.IsZero() && (t == nil || !l.At.Before(t.Time))
}

// try asks for a power operation and counts it.
func (s *step) try(c Call) {
	s.st().Tries++
	s.st().LastTry = micro(s.now)
	s.call = c
}

// sinceTry is how long ago the last operation was asked for.
func (s *step) sinceTry() time.Duration {
	if s.st().LastTry == nil {
		return 1<<63 - 1
	}
	return s.passed(s.st().LastTry.Time)
}

func (s *step) age() time.Duration {
	if s.st().Since == nil {
		return 0
	}
	return s.passed(s.st().Since.Time)
}

func powerText(l Look) string {
	if l.Since.IsZero() || l.Reading.Power == "" {
		return string(Unknown)
	}
	return string(l.Reading.Power)
}

// maxText is the API's bound for a message, in bytes.
const maxText = 1024

func cut(text string) string {
	if len(text) > maxText {
		return text[:maxText-3] + "..."
	}
	return text
}

// micro is a time as the API server keeps it.
func micro(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.Truncate(time.Microsecond).UTC())
	return &m
}
