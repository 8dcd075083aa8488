package proxmox

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/muster-sh/muster/provider"
)

// proveAbsent is ErrNotFound, unless a clone may still begin or run that would be this claim's machine, or its number is in use
// although no listing has it.
func (p *Provider) proveAbsent(ctx context.Context, op string, m provider.Machine) error {
	if w := p.workFor(m.ClaimUID); w != nil {
		running, _, err := p.settle(ctx, w.vmid)
		switch {
		case err != nil:
			return err
		case running != nil && w.making():
			return &provider.Error{Op: op, Kind: provider.ErrUnknown,
				Err: fmt.Errorf("the %s of VM %d has not been seen to end", w.what, w.vmid)}
		case running == nil && w.making():
			return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("the %s of VM %d ended after we looked", w.what, w.vmid)}
		}
		p.forget(w.vmid)
	}
	if err := p.noStrayClones(ctx, op); err != nil {
		return err
	}
	if m.ProviderID != "" { // it was there once
		if err := p.notHidden(ctx, op, m.ID); err != nil {
			return err
		}
	}
	return &provider.Error{Op: op, Kind: provider.ErrNotFound}
}

// notHidden asks for the number by itself: whether one is in use is told to everybody, while listings leave out what a token may
// not see, and it may have lost that right since its permissions were read.
func (p *Provider) notHidden(ctx context.Context, op string, id provider.ID) error {
	vmid, err := strconv.Atoi(string(id))
	if err != nil || !p.inRange(vmid) {
		return nil //nolint:nilerr // what is no number is no VM
	}
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	if v.guest(vmid) != nil {
		return nil // somebody else's, or on its way to another claim: it was read
	}
	var free number
	err = p.client.get(ctx, op, fmt.Sprintf("/cluster/nextid?vmid=%d", vmid), &free)
	switch {
	case err == nil && int(free) == vmid:
		return nil
	case refusesField(err, "vmid"):
		p.viewing.Lock()
		p.rights, p.view = nil, nil
		p.viewing.Unlock()
		return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("number %d is in use, and no VM with it is listed", vmid),
			Hint: blindHint}
	case err == nil:
		err = fmt.Errorf("asked about number %d and was told of %d", vmid, int(free))
	}
	return unsure(op, err)
}

// noStrayClones asks the hosts for machines being made that this process does not know: by a Muster that was killed. Whose
// they are is to be seen when they are made.
func (p *Provider) noStrayClones(ctx context.Context, op string) error {
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	for i := range v.hosts {
		h := &v.hosts[i]
		if h.Status != "online" {
			continue
		}
		var tasks []struct {
			UPID string `json:"upid"`
			Type string `json:"type"`
		}
		if err := p.client.get(ctx, op, "/nodes/"+url.PathEscape(h.Node)+"/tasks?source=active", &tasks); err != nil {
			return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: err}
		}
		for _, t := range tasks {
			if (t.Type == "qmclone" || t.Type == "qmcreate") && !p.knows(t.UPID) {
				return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("a VM is being made on host %s that may be its machine", h.Node)}
			}
		}
	}
	return nil
}

func (p *Provider) knows(task string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.works {
		if w.id.text == task {
			return true
		}
	}
	return false
}
