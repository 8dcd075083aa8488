package host

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/time/rate"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// Power is the state of a host's power, as status.power of a Host spells it.
type Power string

// The states of power. Unknown is an answer too: some hosts have nobody to ask.
const (
	On          Power = "On"
	Off         Power = "Off"
	PoweringOn  Power = "PoweringOn"
	PoweringOff Power = "PoweringOff"
	Unknown     Power = "Unknown"
)

// Reading is what a look at a host said.
type Reading struct {
	Power Power
	// Identity is which machine answered; facts that cannot be read are empty.
	Identity v1alpha1.MachineIdentity
	// SystemUUID is what the Node of the machine will report; empty where it cannot be read.
	SystemUUID string
	// UUIDs are what the system's UUID may be, where the BMC tells one in a byte order that nobody knows.
	UUIDs []string
	// Failed is why the last operation that was accepted came to nothing, where the BMC says so.
	Failed string
}

// ErrNoShutdown means that a host cannot be asked to shut down; it was not touched.
var ErrNoShutdown = errors.New("no graceful shutdown")

// Switch is the power switch of one host. No verb waits for its effect: accepted is not done, and only Read says what is.
// All may be called twice; that the host is already in the state asked for is no error. Errors are those of the package
// provider: ErrBusy (nothing was done, ask again later), ErrRefused (it will never work as configured), ErrUnknown (it may
// have been done: read). Each verb but Read compares, in its own operation, the machine that it meets with the one on record, and
// changes nothing of another one: that is an *Another.
type Switch interface {
	// Read asks afresh, past every cache.
	Read(ctx context.Context) (Reading, error)
	// On powers the host on. A boot device that is not empty is set for the next boot first; without it being set the
	// host is not powered on.
	On(ctx context.Context, boot v1alpha1.BootDevice) error
	// Shutdown asks the operating system to stop, or returns ErrNoShutdown. It and Off ask for a proof first, and spend it.
	Shutdown(ctx context.Context, permit Permit) error
	// Off takes the power away.
	Off(ctx context.Context, permit Permit) error
	// ClearBoot ends a boot device that On set and that outlived the boot it was for. Where none is set it does nothing.
	ClearBoot(ctx context.Context) error
}

// Paced is a switch whose calls wait for their turn among those to all BMCs.
type Paced struct {
	Switch
	Limit *rate.Limiter
}

var _ Switch = Paced{}

func (p Paced) wait(ctx context.Context) error {
	if err := p.Limit.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the calls to other BMCs: %w: %w", provider.ErrBusy, err)
	}
	return nil
}

// Read reads in its turn.
func (p Paced) Read(ctx context.Context) (Reading, error) {
	if err := p.wait(ctx); err != nil {
		return Reading{}, err
	}
	return p.Switch.Read(ctx)
}

// On powers on in its turn.
func (p Paced) On(ctx context.Context, boot v1alpha1.BootDevice) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	return p.Switch.On(ctx, boot)
}

// Shutdown shuts down in its turn.
func (p Paced) Shutdown(ctx context.Context, permit Permit) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	return p.Switch.Shutdown(ctx, permit)
}

// Off powers off in its turn.
func (p Paced) Off(ctx context.Context, permit Permit) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	return p.Switch.Off(ctx, permit)
}

// ClearBoot clears in its turn.
func (p Paced) ClearBoot(ctx context.Context) error {
	if err := p.wait(ctx); err != nil {
		return err
	}
	return p.Switch.ClearBoot(ctx)
}
