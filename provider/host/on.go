package host

import (
	"errors"
	"fmt"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// Why a host is given up for a claim; also the reasons of its quarantine and of its events.
const (
	FaultFoundOn      = "FoundOn"                    // it was on before Muster switched it on: somebody else's
	FaultNoEffect     = "NoEffect"                   // power-on was accepted and nothing happened
	FaultUnreachable  = "Unreachable"                // no answer until the deadline
	FaultRefused      = "Refused"                    // the BMC will not do it: credentials, rights, no such operation
	FaultWentOff      = "WentOff"                    // off, without Muster having asked for it
	FaultNeverJoined  = "NeverJoined"                // powered on, and its node did not come
	FaultPowerUnknown = "PowerUnknown"               // given back without a way to see whether it is off
	FaultIdentity     = gate.ReasonIdentityMismatch  // another machine answers than the recorded one
	FaultAmbiguous    = gate.ReasonIdentityAmbiguous // another Host object may be the same machine
)

// off is a free host: it is read now and then, so that one that somebody switched on is not claimed.
func off(s *step) {
	if fault, why := s.doubt(); fault != "" {
		s.quarantine(fault, why)
		return
	}
	switch p := Power(s.st().Power); {
	case s.h.Spec.Quarantined:
		s.say("kept from being claimed by spec.quarantined")
	case s.st().Errors >= maxErrors:
		s.say("does not answer: " + s.st().LastError)
	case p == On || p == PoweringOn:
		s.say("on, and not claimed: somebody else switched it on")
	default:
		s.say("free")
	}
	s.read(s.rules.Idle)
}

// poweringOn switches a claimed host on. It was seen not to be on before the first try, and the try is recorded before it
// is made: whatever is on later is on because of us.
func poweringOn(s *step) {
	p := s.o.Look.Reading.Power
	fault, why := s.doubt()
	switch {
	case fault != "" && !s.st().SwitchedOn:
		s.fail(fault, why)
	case hopeless(s.failure) || s.readRefused():
		s.fail(FaultRefused, s.st().LastError)
	case s.readSince(s.claimedAt()) && p == On && !s.st().SwitchedOn:
		s.fail(FaultFoundOn, "it was on before Muster switched it on")
	case s.st().SwitchedOn && s.readSince(s.st().LastTry) && s.o.Look.held(On, s.rules.Hold):
		s.cameOn()
	case s.age() >= s.rules.OnDeadline:
		s.late(s.rules.OnDeadline)
	case !s.st().SwitchedOn && s.st().Errors > 0 && s.age() >= s.rules.Answer:
		s.late(s.rules.Answer)
	case !s.readSince(s.claimedAt()):
		s.say("reading its power before anything is done")
		s.read(0)
	case p == On && s.readSince(s.st().LastTry):
		s.say("on; looking whether it stays on")
		s.read(s.rules.Hold)
	case p == PoweringOn || p == PoweringOff:
		s.say("the BMC says " + string(p))
		s.read(s.rules.poll(s.age()))
	case fault != "":
		s.say(why + "; it is not switched")
		s.read(s.rules.Hold)
	case !s.st().SwitchedOn:
		if s.turnedAway() {
			break
		}
		s.st().SwitchedOn = true
		s.switchOn()
	default:
		s.awaitOn()
	}
	if s.st().State == v1alpha1.HostPoweringOn {
		s.wake(s.rules.OnDeadline - s.age())
		if left := s.rules.Answer - s.age(); !s.st().SwitchedOn && left > 0 {
			s.wake(left)
		}
	}
}

// readRefused says that the BMC turned even a look down; asking again with the same credentials can lock the account.
func (s *step) readRefused() bool {
	out := s.o.Outcome
	return out != nil && out.Call == CallRead && hopeless(out.Err)
}

// hopeless says that nothing will change by itself.
func hopeless(err error) bool {
	kind := provider.KindOf(err)
	return kind == provider.ErrRefused || kind == provider.ErrMisconfigured //nolint:errorlint // a kind is compared, not unwrapped
}

// notSwitchedOn takes the intent back when the first power-on was not carried out for certain: whatever is on after that was
// switched on by a person.
func (s *step) notSwitchedOn(out *Outcome) {
	if out.Call == CallOn && s.st().Tries <= 1 && (hopeless(out.Err) || errors.Is(out.Err, provider.ErrBusy)) {
		s.st().SwitchedOn = false
	}
}

// turnedAway waits for the next try after one that the BMC did not carry out, and for a reading since then.
func (s *step) turnedAway() bool {
	if s.st().LastTry == nil {
		return false
	}
	if left := s.rules.backoff(s.st().Errors) - s.sinceTry(); left > 0 {
		s.wake(left)
		s.read(s.rules.poll(s.sinceTry()))
		return true
	}
	if !s.readSince(s.st().LastTry) || !s.o.Look.At.After(s.st().LastTry.Time) {
		s.read(0)
		return true
	}
	return false
}

func (s *step) switchOn() {
	if device := s.h.Spec.Power.Boot; device != "" {
		s.st().BootOverride = device
	}
	s.try(CallOn)
	s.say(fmt.Sprintf("powering on, try %d", s.st().Tries))
}

// awaitOn looks for the effect of the last try. Where nobody can say whether a host is on, the same is sent again until
// the deadline: it cannot hurt.
func (s *step) awaitOn() {
	wait := s.rules.OnRetry
	if s.st().Tries == 0 { // the last one was turned away as busy
		wait = s.rules.backoff(s.st().Errors)
	}
	left := wait - s.sinceTry()
	blind := s.o.Look.Reading.Power == Unknown
	switch {
	case left > 0:
		s.wake(left)
		s.read(s.rules.poll(s.sinceTry()))
	case !s.readSince(s.st().LastTry):
		s.read(s.rules.PollFirst)
	case s.st().Tries >= s.rules.OnTries && !blind:
		message := fmt.Sprintf("power-on was accepted %d times and the host reads %s", s.st().Tries, s.st().Power)
		if said := s.o.Look.Reading.Failed; said != "" {
			message += ": " + said
		}
		s.fail(FaultNoEffect, message)
	default:
		s.switchOn()
	}
}

// late gives up at the deadline.
func (s *step) late(deadline time.Duration) {
	why := FaultNoEffect
	if s.st().Errors > 0 || !s.readSince(s.st().LastTry) {
		why = FaultUnreachable
	}
	message := fmt.Sprintf("not on %s after it was claimed", deadline)
	if s.st().LastError != "" {
		message += ": " + s.st().LastError
	}
	s.fail(why, message)
}

func (s *step) cameOn() {
	st, tries := s.st(), s.st().Tries
	st.Wear.PowerCycles++
	st.Wear.LastOn = micro(s.now)
	st.LastError = ""
	s.enter(v1alpha1.HostJoining, "on; its node is awaited")
	s.tell("PoweredOn", fmt.Sprintf("on for claim %s after %d tries", st.Claim.Name, tries))
}

// fail gives the host up for its claim. It keeps the claim until that is released, so that its reason is seen.
func (s *step) fail(fault, message string) {
	s.enter(v1alpha1.HostError, message)
	s.st().Fault = fault
	s.warn(fault, fmt.Sprintf("claim %s: %s", s.st().Claim.Name, message))
}

func failed(s *step) {
	if s.st().Fault == FaultFoundOn || s.st().Fault == FaultRefused {
		return
	}
	s.read(s.rules.Idle)
}

// serving follows a host that is on: its claim says how far its node is, the BMC whether it is still on.
func serving(s *step) {
	from := s.st().State
	s.follow()
	if s.st().State != from {
		return // to the row of that state
	}
	if s.o.Look.held(Off, s.rules.Hold) && s.readSince(s.st().Since) {
		s.fail(FaultWentOff, "off, and Muster did not switch it off")
		return
	}
	if fault, _ := s.doubt(); fault == "" && s.st().State == v1alpha1.HostReady && s.st().BootOverride != "" {
		if left := s.rules.OnRetry - s.sinceTry(); left > 0 {
			s.wake(left)
		} else {
			s.try(CallClear)
			return
		}
	}
	every := s.rules.Watch
	if s.o.Look.Reading.Power == Off {
		every = s.rules.Hold
	}
	s.read(every)
}

// follow takes over what the claim says.
func (s *step) follow() {
	if s.o.Claim == nil {
		return
	}
	st := s.st()
	switch s.o.Claim.State {
	case v1alpha1.ClaimReady:
		st.Served, st.Strikes = true, 0
		if st.State != v1alpha1.HostReady {
			s.enter(v1alpha1.HostReady, "its node is ready")
		}
	case v1alpha1.ClaimDraining:
		if st.State != v1alpha1.HostDraining {
			s.enter(v1alpha1.HostDraining, "its node is being drained")
		}
	}
}

// cleared takes in how the clearing of the boot device ended. It counts when the BMC reads so; one that refuses it, or keeps
// the device after some tries, is told to the operator.
func (s *step) cleared(err error) {
	switch {
	case err == nil:
		s.st().BootOverride = ""
	case hopeless(err) || s.st().Tries >= s.rules.OnTries:
		s.warn("BootDeviceStays", fmt.Sprintf("the host booted, and would boot from %s again: %s", s.st().BootOverride, err))
		s.st().BootOverride = ""
	}
}
