package lifecycle

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// restarting carries out what spec.restart asks for: power off until the provider proves it, power on, and the time of a boot.
// The step is on record before its call is made, and each call may be made again, so a crash neither loses a restart nor
// repeats one. It is true while the machine is being switched.
func (s *step) restarting() bool {
	s.heedRestart()
	r := s.c.Status.Restart
	if r == nil || r.Over() {
		return false
	}
	switch r.Step {
	case v1alpha1.RestartStopping:
		s.switchOff()
	case v1alpha1.RestartStarting:
		s.switchOn()
	case v1alpha1.RestartBooting:
		s.awaitBoot()
	}
	step := s.c.Status.Restart.Step
	return step == v1alpha1.RestartStopping || step == v1alpha1.RestartStarting
}

// heedRestart takes up a restart that was asked for since the last one. A node that came back meanwhile needs none.
func (s *step) heedRestart() {
	asked, last := s.c.Spec.Restart, s.c.Status.Restart
	if asked == nil || last != nil && !asked.Since.After(last.Since.Time) {
		return
	}
	s.c.Status.Restart = &v1alpha1.RestartStatus{Since: asked.Since}
	if s.o.Node != nil && NodeReady(s.o.Node) {
		s.endRestart(v1alpha1.RestartRecovered, ReasonRestarted, "node "+s.c.Status.NodeName+" is ready again, and was not restarted")
		return
	}
	s.nextInRestart(v1alpha1.RestartStopping, fmt.Sprintf("switching machine %s off, to restart node %s", s.c.Status.MachineID, s.c.Status.NodeName))
	s.do(Event{Type: corev1.EventTypeWarning, Reason: ReasonRestarting, Message: s.c.Status.Message})
}

// nextInRestart enters a step with a clean slate of waits and errors.
func (s *step) nextInRestart(to v1alpha1.RestartStep, message string) {
	st := &s.c.Status
	st.Restart.Step, st.Restart.At = to, *micro(s.now)
	st.Errors, st.NextAttempt = 0, nil
	s.say(message)
	s.yes(v1alpha1.ConditionRestarting, string(to), message)
	s.no(v1alpha1.ConditionReady, ReasonNodeNotReady, message)
}

func (s *step) endRestart(how v1alpha1.RestartStep, reason, message string) {
	st := &s.c.Status
	st.Restart.Step, st.Restart.At = how, *micro(s.now)
	st.Errors, st.NextAttempt = 0, nil
	s.say(message)
	s.no(v1alpha1.ConditionRestarting, string(how), message)
	kind := corev1.EventTypeWarning
	if how == v1alpha1.RestartRecovered {
		kind = corev1.EventTypeNormal
	}
	s.do(Event{Type: kind, Reason: reason, Message: message})
}

// switchOff asks for power off until the machine is proven off.
func (s *step) switchOff() {
	m, known := s.sinceStep()
	switch why := s.declined(VerbStop); {
	case why != "":
		s.endRestart(v1alpha1.RestartImpossible, ReasonNoRestart, fmt.Sprintf("machine %s cannot be restarted: %s", s.c.Status.MachineID, why))
	case known && m.State == provider.StatePending:
		s.nextInRestart(v1alpha1.RestartStarting, fmt.Sprintf("machine %s is off; switching it on", m.ID))
		s.switchOn()
	case known && m.State == provider.StateRunning && s.o.Node != nil && NodeReady(s.o.Node):
		s.endRestart(v1alpha1.RestartRecovered, ReasonRestarted, "node "+s.c.Status.NodeName+" is ready again, before its power was taken away")
	case s.inVain("machine %s was not off after %s"), s.retryLater(), s.waiting():
	case s.due(restartAgain):
		s.do(Stop{Machine: s.recorded()})
	}
}

// switchOn asks for power on until the machine runs. What answers is the machine of this attempt: there is one already.
func (s *step) switchOn() {
	m, known := s.sinceStep()
	switch why := s.declined(VerbCreate); {
	case why != "":
		s.endRestart(v1alpha1.RestartInVain, ReasonNotHelped, fmt.Sprintf("machine %s is not started again: %s", s.c.Status.MachineID, why))
	case known && m.State == provider.StateRunning:
		s.nextInRestart(v1alpha1.RestartBooting, fmt.Sprintf("machine %s runs again, waiting for node %s", m.ID, s.c.Status.NodeName))
		s.wake(s.patience())
	case s.inVain("machine %s did not run %s after it was off"), s.retryLater(), s.waiting():
	case !s.due(restartAgain):
	case known && m.State == provider.StateCreating:
		s.do(Look{Machine: s.recorded()})
	default:
		s.do(Create{Request: s.request()})
	}
}

func (s *step) awaitBoot() {
	if s.o.Node != nil && NodeReady(s.o.Node) {
		s.endRestart(v1alpha1.RestartRecovered, ReasonRestarted, "node "+s.c.Status.NodeName+" is ready again after a restart")
		return
	}
	s.inVain("machine %s was restarted, and its node was not ready %s later")
}

// afterRestart says that a node is awaited after one.
func (s *step) afterRestart() string {
	if r := s.c.Status.Restart; r != nil && r.Step == v1alpha1.RestartBooting {
		return ", its machine was restarted"
	}
	return ""
}

// sinceStep is what the provider said of the machine since the step of the restart began.
func (s *step) sinceStep() (provider.Machine, bool) {
	m, ok := s.current()
	return m, ok && s.o.Machine.since(&s.c.Status.Restart.At)
}

// declined is why the provider will never do what was asked for last, with this verb; empty when it may.
func (s *step) declined(verb Verb) string {
	out := s.o.Outcome
	if out == nil || out.Verb != verb || out.Err == nil {
		return ""
	}
	for _, kind := range []error{provider.ErrRefused, provider.ErrMisconfigured, provider.ErrNoCapacity} {
		if errors.Is(out.Err, kind) {
			return out.Err.Error()
		}
	}
	return ""
}

// inVain ends a restart whose step takes too long, and asks to be woken when that will be so.
func (s *step) inVain(what string) bool {
	left := s.patience() - s.passed(s.c.Status.Restart.At.Time)
	if left > 0 {
		s.wake(left)
		return false
	}
	s.endRestart(v1alpha1.RestartInVain, ReasonNotHelped, fmt.Sprintf(what, s.c.Status.MachineID, s.patience()))
	return true
}

func (s *step) patience() time.Duration {
	if d := s.c.Spec.RegistrationTimeout.Duration; d > 0 {
		return d
	}
	return restartMost
}
