package host

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// giveBack begins the release of a host from its claim.
func giveBack(h *v1alpha1.Host, now time.Time) {
	enter(h, v1alpha1.HostPoweringOff, "given back by claim "+h.Status.Claim.Name, now)
}

// poweringOff ends with the host seen off. It has no deadline: a machine that may be on is not gone.
func poweringOff(s *step) {
	s.lastWords()
	if !s.st().SwitchedOn {
		s.release("never switched on by Muster")
		return
	}
	s.switchOff(s.release)
}

// stopping ends with the host seen off, too; it stays its claim's.
func stopping(s *step) { s.switchOff(s.stopped) }

func (s *step) stopped(message string) {
	if s.st().Fault != "" {
		s.fail(s.st().Fault, message)
		return
	}
	s.enter(v1alpha1.HostStopped, "off, and to be started again")
	s.tell("Stopped", fmt.Sprintf("off for a restart, for claim %s", s.st().Claim.Name))
}

// stopped waits for its claim to have it started.
func stopped(s *step) { s.read(s.rules.Watch) }

// switchOff asks for power off, by way of the operating system where that served, until the host is seen off.
func (s *step) switchOff(end func(message string)) {
	p := Power(powerText(s.o.Look))
	switch {
	case s.returned && p != On && p != PoweringOn:
		end("off, by the word of an operator")
	case s.word() && p != On && p != PoweringOn && p != Off:
		s.st().Fault = FaultPowerUnknown
		end("nothing says whether it is off, and nothing waits for it any more")
	case s.denied != nil:
		s.blocked()
	case s.st().Met != nil:
		_, why := s.doubt()
		s.say(why + "; it is not switched")
		s.read(s.pollOff())
	case s.out(CallShutdown) && s.noShutdown():
		s.force()
	case !s.readSince(s.st().Since) || s.st().Tries > 0 && !s.readSince(s.st().LastTry):
		s.read(s.pollOff())
	case s.o.Look.held(Off, s.rules.Hold):
		end("off")
	case p == Off:
		s.say("off; looking whether it stays off")
		s.read(s.rules.Hold)
	case p == Unknown && s.age() >= s.rules.Shutdown && s.st().Tries > 1 && s.neverSeen():
		s.st().Fault = FaultPowerUnknown
		end("nothing can say whether it is off")
	case s.st().Tries == 0 && s.st().Served && !s.noShutdown():
		s.say("asking the operating system to shut down")
		s.try(CallShutdown)
	default:
		s.force()
	}
}

// word says that nothing waits for the host's power any more: the gate took a person's word that the machine is gone, or the claim
// itself is gone.
func (s *step) word() bool {
	c := s.o.Claim
	return c != nil && (c.Gone || c.Confirmed && c.Attempt > s.st().Claim.Attempt)
}

// neverSeen says that there is nothing that could ever say whether the host is off: it has no BMC, and no Node of it came.
func (s *step) neverSeen() bool {
	return s.h.Spec.Power.Interface == v1alpha1.PowerWoL && !s.st().Served && s.st().Claim.NodeName == ""
}

// blocked waits for what the gate misses, and tells it.
func (s *step) blocked() {
	st, reason := s.st(), s.denied.reason()
	if s.out(CallOff) && st.Tries > 0 { // its time to shut down is over all the same
		st.LastTry = micro(s.now.Add(-s.rules.Shutdown))
	}
	message := "its power is left alone: " + s.denied.Error()
	if c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionPowerOffBlocked); c == nil || c.Status != metav1.ConditionTrue || c.Reason != reason {
		s.warn(reason, message+personsWord(s.h))
	}
	s.condition(v1alpha1.ConditionPowerOffBlocked, metav1.ConditionTrue, reason, message)
	s.say(message)
	s.wake(gateAgain)
	s.read(gateAgain)
}

// gateAgain is how soon the gate is asked again after it refused.
const gateAgain = 5 * time.Second

// personsWord is what a person can do where no reading comes.
func personsWord(h *v1alpha1.Host) string {
	return fmt.Sprintf("; if the machine is off for good: muster confirm-gone %s, or a new value of the annotation %s on the host",
		h.Status.Claim.Name, v1alpha1.ReturnHostAnnotation)
}

// unblocked forgets what the gate said of an earlier power-off.
func (s *step) unblocked() {
	if meta.IsStatusConditionTrue(s.st().Conditions, v1alpha1.ConditionPowerOffBlocked) {
		s.condition(v1alpha1.ConditionPowerOffBlocked, metav1.ConditionFalse, "Permitted", "")
	}
}

// tellUnknown says once that no reading tells whether the host is off.
func (s *step) tellUnknown() {
	const message = "nothing says whether it is off"
	if Power(s.st().Power) != Unknown || s.age() < s.rules.Shutdown || s.st().Tries < 2 {
		return
	}
	if c := meta.FindStatusCondition(s.st().Conditions, v1alpha1.ConditionPowerOffBlocked); c == nil || c.Reason != FaultPowerUnknown {
		s.warn(FaultPowerUnknown, message+personsWord(s.h))
	}
	s.condition(v1alpha1.ConditionPowerOffBlocked, metav1.ConditionTrue, FaultPowerUnknown, message+personsWord(s.h))
}

// lastWords takes in what the claim says at its end: whether something runs there that can be shut down, and whether the
// host is to blame.
func (s *step) lastWords() {
	if s.o.Claim == nil {
		return
	}
	st := s.st()
	st.Served = st.Served || s.o.Claim.Served
	if s.o.Claim.TimedOut && !st.Served && st.Fault == "" {
		st.Fault = FaultNeverJoined
	}
}

// noShutdown says that the host cannot be asked to shut down.
func (s *step) noShutdown() bool {
	return errors.Is(s.failure, ErrNoShutdown) || hopeless(s.failure)
}

// force takes the power away once the operating system had its time, and again while that has no effect.
func (s *step) force() {
	wait := s.rules.OffRetry
	switch {
	case s.out(CallShutdown) && s.noShutdown(), s.st().Tries == 0 && !s.st().Served:
		wait = 0
	case s.st().Tries == 1 && s.st().Served:
		wait = s.rules.Shutdown
	case s.st().Tries > 2:
		wait = s.rules.backoff(s.st().Tries) + s.rules.OffRetry
	}
	if left := wait - s.sinceTry(); left > 0 {
		s.say(fmt.Sprintf("reads %s; its power is taken away in %s", s.st().Power, left.Round(time.Second)))
		s.wake(left)
		s.read(s.pollOff())
		return
	}
	s.tellUnknown()
	if s.st().Tries == 5 {
		s.warn("StaysOn", "asked to power off again and again, and it stays on: "+s.st().LastError)
	}
	s.try(CallOff)
	s.say(fmt.Sprintf("taking its power away, try %d", s.st().Tries))
}

func (s *step) out(c Call) bool { return s.o.Outcome != nil && s.o.Outcome.Call == c }

func (s *step) pollOff() time.Duration {
	if s.st().LastTry == nil {
		return 0
	}
	return s.rules.poll(s.sinceTry())
}

// release takes the claim off a host that is proven off, or was never switched on. A host that did not serve its claim is
// kept out for a while, longer each time.
func (s *step) release(message string) {
	st := s.st()
	if st.SwitchedOn {
		st.Wear.LastOff = micro(s.now)
	}
	s.tell("Released", fmt.Sprintf("released by claim %s: %s", st.Claim.Name, message))
	fault := st.Fault
	s.unblocked()
	st.Released, st.Claim, st.SwitchedOn, st.Served, st.Fault = st.Claim, nil, false, false, ""
	if fault == "" {
		s.enter(v1alpha1.HostOff, "free")
		return
	}
	s.lockAway(fault)
}

func (s *step) lockAway(fault string) {
	st := s.st()
	var until *metav1.MicroTime
	switch fault {
	case FaultPowerUnknown, FaultIdentity, FaultAmbiguous:
	case FaultFoundOn:
		until = micro(s.now.Add(s.rules.CoolDown))
	default:
		st.Strikes++
		if d := s.rules.coolDown(st.Strikes); d > 0 {
			until = micro(s.now.Add(d))
		}
	}
	message := fmt.Sprintf("%s, strike %d", fault, st.Strikes)
	if until == nil {
		message += "; only an operator returns it, by a new value of the annotation " + v1alpha1.ReturnHostAnnotation
	}
	st.Quarantine = &v1alpha1.Quarantine{Reason: fault, Message: cut(message), Since: *micro(s.now), Until: until}
	s.enter(v1alpha1.HostQuarantined, message)
	s.warn("Quarantined", message)
}

// quarantine keeps a free host out until it is known again which machine it is.
func (s *step) quarantine(fault, why string) {
	s.st().Quarantine = &v1alpha1.Quarantine{Reason: fault, Message: cut(why), Since: *micro(s.now)}
	s.enter(v1alpha1.HostQuarantined, why)
	s.warn("Quarantined", fault+": "+why)
}

// quarantined waits for the end of the cool-down, or for the operator.
func quarantined(s *step) {
	q := s.st().Quarantine
	fault, why := s.doubt()
	switch {
	case q == nil && fault != "":
		s.quarantine(fault, why)
	case q != nil && fault != "" && q.Until == nil && (q.Reason == FaultIdentity || q.Reason == FaultAmbiguous):
		q.Reason, q.Message = fault, cut(why)
		s.say(why)
		s.read(s.rules.Idle)
	case q != nil && (q.Reason == FaultIdentity || q.Reason == FaultAmbiguous) && s.readSince(&q.Since):
		s.st().Quarantine = nil
		s.enter(v1alpha1.HostOff, "it is known again which machine it is")
		s.tell("Returned", "it is known again which machine it is")
	case q != nil && (q.Reason == FaultIdentity || q.Reason == FaultAmbiguous):
		s.read(s.rules.Idle)
	case q == nil:
		s.st().Quarantine = nil
		s.enter(v1alpha1.HostOff, "returned by an operator")
		s.tell("Returned", "returned from quarantine by an operator")
	case q.Until == nil:
	case s.now.Before(q.Until.Time):
		s.wake(q.Until.Sub(s.now))
	default:
		s.st().Quarantine = nil
		s.enter(v1alpha1.HostOff, "the cool-down is over")
		s.tell("Returned", "the cool-down is over")
	}
}
