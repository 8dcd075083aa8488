package host

import (
	"context"
	"errors"

	"github.com/muster-sh/muster/api/v1alpha1"
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
	// SystemUUID is empty where it cannot be read.
	SystemUUID string
}

// ErrNoShutdown means that a host cannot be asked to shut down; it was not touched.
var ErrNoShutdown = errors.New("no graceful shutdown")

// Switch is the power switch of one host. No verb waits for its effect: accepted is not done, and only Read says what is.
// All may be called twice; that the host is already in the state asked for is no error. Errors are those of the package
// provider: ErrBusy (nothing was done, ask again later), ErrRefused (it will never work as configured), ErrUnknown (it may
// have been done: read).
type Switch interface {
	// Read asks afresh, past every cache.
	Read(ctx context.Context) (Reading, error)
	// On powers the host on. A boot device that is not empty is set for the next boot first; without it being set the
	// host is not powered on.
	On(ctx context.Context, boot v1alpha1.BootDevice) error
	// Shutdown asks the operating system to stop, or returns ErrNoShutdown.
	Shutdown(ctx context.Context) error
	// Off takes the power away.
	Off(ctx context.Context) error
}
