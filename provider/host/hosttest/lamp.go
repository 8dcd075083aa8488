package hosttest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/host"
)

// Lamp is a switch without a wire: power that follows the clock, and faults that it is told. Fields are set before use.
type Lamp struct {
	Clock *Clock
	// Delay is how long power takes to change.
	Delay time.Duration
	// Identity is which machine it says that it is.
	Identity v1alpha1.MachineIdentity
	// Mute tells no power state.
	Mute bool
	// BootStays keeps the boot device that On set.
	BootStays bool
	// Lies has On be accepted without effect; Deaf the same of Shutdown, Stuck of Off; NoShutdown has none.
	Lies, Deaf, Stuck, NoShutdown bool

	mu     sync.Mutex
	on     bool
	target bool
	at     time.Time
	errs   []error
	calls  []host.Call
	boot   v1alpha1.BootDevice
}

var _ host.Switch = (*Lamp)(nil)

// Fail has the next calls fail with these errors, one each.
func (l *Lamp) Fail(errs ...error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, errs...)
}

// Set switches by hand, at once.
func (l *Lamp) Set(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on, l.target = on, on
}

// IsOn says whether it is on now.
func (l *Lamp) IsOn() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settle()
}

// Calls are the power operations made so far, reads left out.
func (l *Lamp) Calls() []host.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]host.Call{}, l.calls...)
}

func (l *Lamp) settle() bool {
	if l.on != l.target && !l.Clock.Now().Before(l.at) {
		l.on = l.target
	}
	return l.on
}

func (l *Lamp) do(ctx context.Context, c host.Call, to, effect bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle()
	if err := ctx.Err(); err != nil {
		return err
	}
	if c != host.CallRead {
		l.calls = append(l.calls, c)
	}
	if len(l.errs) > 0 {
		err := l.errs[0]
		l.errs = l.errs[1:]
		if err != nil {
			return err
		}
	}
	if effect && l.target != to {
		l.target, l.at = to, l.Clock.Now().Add(l.Delay)
		l.settle()
	}
	return nil
}

// Read says whether it is on.
func (l *Lamp) Read(ctx context.Context) (host.Reading, error) {
	if err := l.do(ctx, host.CallRead, false, false); err != nil {
		return host.Reading{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := host.Reading{Power: host.Off, Identity: l.Identity}
	switch on := l.settle(); {
	case l.Mute:
		r.Power = host.Unknown
	case on:
		r.Power = host.On
	}
	return r, nil
}

// On switches it on.
func (l *Lamp) On(ctx context.Context, boot v1alpha1.BootDevice) error {
	l.mu.Lock()
	l.boot = boot
	l.mu.Unlock()
	return l.do(ctx, host.CallOn, true, !l.Lies)
}

// Is has another machine answer from now on.
func (l *Lamp) Is(id v1alpha1.MachineIdentity) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Identity = id
}

// Tell has it tell its power state, or not.
func (l *Lamp) Tell(power bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Mute = !power
}

// permitted asks for the proof that every power-off wants.
func (l *Lamp) permitted(ctx context.Context, permit host.Permit) error {
	l.mu.Lock()
	met := l.Identity
	l.mu.Unlock()
	proof, err := permit(ctx, met)
	if err != nil {
		return err
	}
	if len(proof.Items()) == 0 || proof.Identity().SystemUUID != met.SystemUUID {
		return fmt.Errorf("%w: %w", provider.ErrRefused, gate.ErrNoProof)
	}
	return nil
}

// Shutdown switches it off gently.
func (l *Lamp) Shutdown(ctx context.Context, permit host.Permit) error {
	if l.NoShutdown {
		return host.ErrNoShutdown
	}
	if err := l.permitted(ctx, permit); err != nil {
		return err
	}
	return l.do(ctx, host.CallShutdown, false, !l.Deaf)
}

// Off switches it off.
func (l *Lamp) Off(ctx context.Context, permit host.Permit) error {
	if err := l.permitted(ctx, permit); err != nil {
		return err
	}
	return l.do(ctx, host.CallOff, false, !l.Stuck)
}

// ClearBoot forgets the boot device, unless it stays.
func (l *Lamp) ClearBoot(ctx context.Context) error {
	err := l.do(ctx, host.CallClear, false, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.BootStays {
		return provider.ErrBusy
	}
	if err == nil {
		l.boot = ""
	}
	return err
}

// Boot is the boot device that is set.
func (l *Lamp) Boot() v1alpha1.BootDevice {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boot
}
