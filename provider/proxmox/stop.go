package proxmox

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// Stop has a machine shut down and, where its guest does not, its power taken away. It is not reset: that a reset had any
// effect is nowhere to be seen, and a machine that is off says so.
func (p *Provider) Stop(ctx context.Context, m provider.Machine, proof gate.Proof) (provider.Machine, error) {
	op := fmt.Sprintf("stop VM %s of claim %s", m.ID, m.ClaimUID)
	if err := over(ctx, op); err != nil {
		return provider.Machine{}, err
	}
	if m.ClaimUID == "" {
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrRefused, Err: errors.New("no claim UID")}
	}
	defer p.claims.lock(string(m.ClaimUID))()
	f, err := p.observe(ctx, m.ClaimUID, m.ID)
	if errors.Is(err, errAbsent) {
		return provider.Machine{}, p.nothingToStop(ctx, op, m)
	}
	if err != nil {
		return provider.Machine{}, refusing(err)
	}
	if err := p.mayTouch(op, m, f); err != nil {
		return provider.Machine{}, err
	}
	return p.stop(ctx, op, f, func() error { return provider.Spend(proof, gate.Stop, m, p.machine(f).Identity, p.now()) })
}

// nothingToStop tells what is gone from what was never ours.
func (p *Provider) nothingToStop(ctx context.Context, op string, m provider.Machine) error {
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	if err := p.othersVM(ctx, op, v, m); err != nil {
		return err
	}
	return p.proveAbsent(ctx, op, m)
}

// stop takes the power off, unless the machine is off or on its way there. From now on it is no failure that it is.
func (p *Provider) stop(ctx context.Context, op string, f *found, spend func() error) (provider.Machine, error) {
	busy := func(why string) error { return &provider.Error{Op: op, Kind: provider.ErrBusy, Err: errors.New(why)} }
	if p.machine(f).State == provider.StateDeleting {
		return provider.Machine{}, busy("it is being given back")
	}
	if f.work == nil {
		if err := p.adopt(ctx, op, f); err != nil {
			return provider.Machine{}, err
		}
	}
	switch {
	case f.work != nil && f.work.stops():
		return p.machine(f), nil
	case f.work != nil:
		return provider.Machine{}, busy("its " + f.work.what + " is under way")
	case f.row.Lock != "":
		return provider.Machine{}, busy("it is locked (" + f.row.Lock + ")")
	}
	p.mu.Lock()
	delete(p.started, f.row.vmid())
	if f.status != "running" {
		delete(p.asked, f.row.vmid())
	}
	p.mu.Unlock()
	if f.status == "running" {
		if err := spend(); err != nil {
			return provider.Machine{}, err
		}
		return p.powerOff(ctx, f)
	}
	return p.machine(f), nil
}
