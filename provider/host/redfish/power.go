package redfish

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/stmcginnis/gofish/schemas"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
)

// Switch is one system of a BMC.
type Switch struct {
	BMC *BMC
	// System is its Id, UUID or serial number; UUID is the system's UUID as the Host says. One may be empty where the BMC
	// has one system, or both.
	System, UUID string
	// Bound is the host that the system has to be.
	Bound host.Bound
}

var _ host.Switch = Switch{}

// at runs f with the system as it is now.
func (s Switch) at(ctx context.Context, f func(*call, *system) error) error {
	return s.BMC.do(ctx, func(c *call) error {
		found, err := c.find(s.BMC.root.Systems.Path, s.System, s.UUID)
		if err != nil {
			return err
		}
		return f(c, found)
	})
}

// change runs f with the system as it is now, unless it is another one than the recorded.
func (s Switch) change(ctx context.Context, f func(*call, *system) error) error {
	return s.at(ctx, func(c *call, now *system) error {
		if err := s.Bound.Sure(s.met(now)); err != nil {
			return err
		}
		return f(c, now)
	})
}

// met is which system this is.
func (s Switch) met(now *system) v1alpha1.MachineIdentity {
	return s.Bound.Met(cmp.Or(string(now.ID), path.Base(strings.TrimRight(now.Path, "/"))), string(now.UUID), string(now.SerialNumber))
}

// Read reads the power state afresh.
func (s Switch) Read(ctx context.Context) (host.Reading, error) {
	var r host.Reading
	err := s.at(ctx, func(c *call, now *system) error {
		r = host.Reading{Power: powerOf(now), Identity: s.met(now), SystemUUID: string(now.UUID), Failed: c.follow(now.Path)}
		return nil
	})
	return r, err
}

func powerOf(s *system) host.Power {
	switch schemas.PowerState(s.PowerState) {
	case schemas.OnPowerState, schemas.PausedPowerState:
		return host.On
	case schemas.OffPowerState:
		return host.Off
	case schemas.PoweringOnPowerState:
		return host.PoweringOn
	case schemas.PoweringOffPowerState:
		return host.PoweringOff
	}
	return host.Unknown
}

// On powers the system on, from the boot device if one is given.
func (s Switch) On(ctx context.Context, device v1alpha1.BootDevice) error {
	return s.change(ctx, func(c *call, now *system) error {
		if powerOf(now) == host.On {
			return nil
		}
		if device != "" {
			if err := c.setBoot(now, device); err != nil {
				return err
			}
		}
		return c.reset(now, host.On, nil, schemas.OnResetType, schemas.ForceOnResetType, schemas.PushPowerButtonResetType)
	})
}

// ClearBoot ends an override of the boot device.
func (s Switch) ClearBoot(ctx context.Context) error {
	return s.change(ctx, func(c *call, now *system) error { return c.clearBoot(now) })
}

// Shutdown asks the operating system to stop.
func (s Switch) Shutdown(ctx context.Context, permit host.Permit) error {
	return s.change(ctx, func(c *call, now *system) error {
		if powerOf(now) == host.Off {
			return nil
		}
		return c.reset(now, host.Off, func() error { return s.Bound.Spend(ctx, permit, s.met(now)) }, schemas.GracefulShutdownResetType, schemas.PushPowerButtonResetType)
	})
}

// Off takes the power away.
func (s Switch) Off(ctx context.Context, permit host.Permit) error {
	return s.change(ctx, func(c *call, now *system) error {
		if powerOf(now) == host.Off {
			return nil
		}
		return c.reset(now, host.Off, func() error { return s.Bound.Spend(ctx, permit, s.met(now)) }, schemas.ForceOffResetType)
	})
}

// reset asks for the first of the reset types that the BMC takes. The power button toggles: it is pressed only when the
// system was just read in the opposite state. What permits it is asked last, and only where there is something to ask for.
func (c *call) reset(s *system, to host.Power, permitted func() error, wanted ...schemas.ResetType) error {
	allowed, err := c.allowed(s)
	if err != nil {
		return err
	}
	kind := choose(allowed, wanted)
	switch {
	case s.Actions.Reset.Target == "" && slices.Contains(wanted, schemas.GracefulShutdownResetType):
		return &provider.Error{Op: "shut down", Kind: host.ErrNoShutdown}
	case s.Actions.Reset.Target == "":
		return fmt.Errorf("system %s has no reset action: %w", s.ID, provider.ErrRefused)
	case kind == "" && slices.Contains(wanted, schemas.GracefulShutdownResetType):
		return &provider.Error{Op: "shut down", Kind: host.ErrNoShutdown}
	case kind == "":
		return fmt.Errorf("system %s takes the resets %v and none of %v: %w", s.ID, allowed, wanted, provider.ErrRefused)
	case kind == schemas.PushPowerButtonResetType && powerOf(s) != opposite(to):
		return fmt.Errorf("system %s reads %q, and its power button would toggle that: %w", s.ID, s.PowerState, provider.ErrBusy)
	}
	if permitted != nil {
		if err := permitted(); err != nil {
			return err
		}
	}
	body := map[string]schemas.ResetType{"ResetType": kind}
	taskAt, err := c.send(http.MethodPost, s.Actions.Reset.Target, body, "")
	for _, tag := range tags(s.etag) {
		if status := statusOf(err); status != http.StatusPreconditionFailed && status != http.StatusPreconditionRequired {
			break
		}
		taskAt, err = c.send(http.MethodPost, s.Actions.Reset.Target, body, tag)
	}
	if err == nil {
		delete(c.tasks, s.Path)
		if taskAt != "" {
			c.tasks[s.Path] = &task{at: taskAt}
		}
		return nil
	}
	return c.lookAgain(s, to, err)
}

// lookAgain decides on an error by what the system reads now.
func (c *call) lookAgain(s *system, to host.Power, err error) error {
	if now, looked := c.system(s.Path); looked == nil && powerOf(now) == to {
		return nil
	}
	if wrongState(err) {
		return fmt.Errorf("%w: %w", errWrongState, err)
	}
	return err
}

// choose is the first wanted type that is allowed. A BMC that does not say what it allows gets On and ForceOff.
func choose(allowed []string, wanted []schemas.ResetType) schemas.ResetType {
	if allowed == nil {
		allowed = []string{string(schemas.OnResetType), string(schemas.ForceOffResetType)}
	}
	for _, w := range wanted {
		if slices.Contains(allowed, string(w)) {
			return w
		}
	}
	return ""
}

func opposite(p host.Power) host.Power {
	if p == host.On {
		return host.Off
	}
	return host.On
}
