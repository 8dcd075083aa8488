package host

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Rules are how long things take and how often they are tried. The zero value is not usable; begin with DefaultRules.
type Rules struct {
	// Hold is how long power must read the same before it counts.
	Hold time.Duration
	// Answer is how long a claimed host may not answer while nothing was asked of it yet: another one can take its place.
	Answer time.Duration
	// OnRetry is how long an accepted power-on may show no effect before it is asked for again, OnTries how often that
	// is done, and OnDeadline how long all of it may take.
	OnRetry    time.Duration
	OnTries    int32
	OnDeadline time.Duration
	// Shutdown is how long the operating system has to stop before its power is taken, OffRetry how often that is asked
	// for again. Powering off has no deadline: the machine is not gone before it is off.
	Shutdown time.Duration
	OffRetry time.Duration
	// PollFirst and PollMost bound the time between two readings while power changes.
	PollFirst time.Duration
	PollMost  time.Duration
	// Watch is how often a host is read that a claim has, Idle how often any other.
	Watch time.Duration
	Idle  time.Duration
	// CoolDown is the first quarantine; each strike in a row doubles it up to CoolDownMost. From MaxStrikes on only an
	// operator ends it.
	CoolDown     time.Duration
	CoolDownMost time.Duration
	MaxStrikes   int32
}

// DefaultRules suit servers: minutes of self-test, a BMC that needs a while after each operation.
func DefaultRules() Rules {
	return Rules{
		Hold: 3 * time.Second, Answer: 2 * time.Minute, OnRetry: time.Minute, OnTries: 3, OnDeadline: 10 * time.Minute,
		Shutdown: 5 * time.Minute, OffRetry: 30 * time.Second, PollFirst: 2 * time.Second, PollMost: 15 * time.Second,
		Watch: time.Minute, Idle: 5 * time.Minute,
		CoolDown: 10 * time.Minute, CoolDownMost: 24 * time.Hour, MaxStrikes: 4,
	}
}

// RulesOf are the rules of a Provider; what it does not say is as in DefaultRules.
func RulesOf(spec *v1alpha1.HostRules) (Rules, error) {
	r := DefaultRules()
	if spec == nil {
		return r, nil
	}
	for _, d := range []struct {
		rule *time.Duration
		said *metav1.Duration
		name string
	}{
		{&r.Hold, spec.Settle, "settle"}, {&r.Answer, spec.AnswerTimeout, "answerTimeout"}, {&r.OnRetry, spec.OnRetry, "onRetry"},
		{&r.OnDeadline, spec.OnTimeout, "onTimeout"}, {&r.Shutdown, spec.ShutdownTimeout, "shutdownTimeout"},
		{&r.OffRetry, spec.OffRetry, "offRetry"}, {&r.Watch, spec.WatchEvery, "watchEvery"}, {&r.Idle, spec.IdleEvery, "idleEvery"},
		{&r.CoolDown, spec.Quarantine.CoolDown, "quarantine.coolDown"}, {&r.CoolDownMost, spec.Quarantine.MaxCoolDown, "quarantine.maxCoolDown"},
	} {
		if d.said == nil {
			continue
		}
		if d.said.Duration < time.Second {
			return Rules{}, fmt.Errorf("spec.hosts.%s is %s: use 1s or more", d.name, d.said.Duration)
		}
		*d.rule = d.said.Duration
	}
	if spec.OnAttempts > 0 {
		r.OnTries = spec.OnAttempts
	}
	if spec.Quarantine.MaxStrikes > 0 {
		r.MaxStrikes = spec.Quarantine.MaxStrikes
	}
	return r, r.consistent()
}

// consistent holds what the API server asks for when the defaults are filled in.
func (r Rules) consistent() error {
	switch {
	case r.OnRetry >= r.OnDeadline:
		return fmt.Errorf("spec.hosts.onRetry is %s: use less than onTimeout, %s", r.OnRetry, r.OnDeadline)
	case r.Answer > r.OnDeadline:
		return fmt.Errorf("spec.hosts.answerTimeout is %s: use at most onTimeout, %s", r.Answer, r.OnDeadline)
	case r.CoolDown > r.CoolDownMost:
		return fmt.Errorf("spec.hosts.quarantine.coolDown is %s: use at most maxCoolDown, %s", r.CoolDown, r.CoolDownMost)
	}
	return nil
}

// poll is how long to wait between two readings of something that began a while ago: an eighth of its age.
func (r Rules) poll(age time.Duration) time.Duration { return min(max(age/8, r.PollFirst), r.PollMost) }

// backoff is the wait after n failed calls in a row: it doubles, up to half an Idle.
func (r Rules) backoff(n int32) time.Duration {
	d := r.PollFirst
	for range min(n, 20) - 1 {
		if d >= r.Idle/4 {
			return r.Idle / 2
		}
		d *= 2
	}
	return d
}

// coolDown is the quarantine after so many strikes in a row; 0 means without end.
func (r Rules) coolDown(strikes int32) time.Duration {
	if strikes >= r.MaxStrikes {
		return 0
	}
	d := r.CoolDown
	for range strikes - 1 {
		d = min(2*d, r.CoolDownMost)
	}
	return d
}
