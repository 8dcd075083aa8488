package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// Delete stops a machine, and when its host says that it is stopped, destroys or keeps it; one step a call.
func (p *Provider) Delete(ctx context.Context, m provider.Machine, proof gate.Proof) error {
	op := fmt.Sprintf("delete VM %s of claim %s", m.ID, m.ClaimUID)
	if err := over(ctx, op); err != nil {
		return err
	}
	if m.ClaimUID == "" {
		return &provider.Error{Op: op, Kind: provider.ErrRefused, Err: errors.New("no claim UID")}
	}
	defer p.claims.lock(string(m.ClaimUID))()
	f, err := p.observe(ctx, m.ClaimUID, m.ID)
	if errors.Is(err, errAbsent) {
		return p.absent(ctx, op, m, proof)
	}
	if err != nil {
		return refusing(err)
	}
	if err := p.mayTouch(op, m, f); err != nil {
		return err
	}
	if f.mark.Keep && f.work == nil {
		if err := p.adopt(ctx, op, f); err != nil {
			return err
		}
	}
	if err := provider.Spend(proof, gate.Delete, m, p.machine(f).Identity, p.now()); err != nil {
		return err
	}
	p.mu.Lock()
	p.deleting[f.row.vmid()] = owner{f.mark.UID, f.mark.Attempt}
	p.mu.Unlock()
	if f.mark.Cluster == "" {
		f.mark.Cluster = m.Cluster // a mark older than that; the claim is proof enough of whose it is
	}
	return p.remove(ctx, op, f)
}

// mayTouch compares everything: the number, the claim, the attempt, the notes, the tags and the SMBIOS UUID.
func (p *Provider) mayTouch(op string, m provider.Machine, f *found) error {
	why := f.speaksAgainst()
	switch {
	case string(m.ID) != "" && string(m.ID) != strconv.Itoa(f.row.vmid()):
		why = fmt.Sprintf("the claim's machine is VM %d", f.row.vmid())
	case f.mark.UID != m.ClaimUID:
		why = "it belongs to another claim"
	case m.Attempt != 0 && f.mark.Attempt != m.Attempt:
		why = fmt.Sprintf("it is of attempt %d", f.mark.Attempt)
	case m.Claim != "" && f.mark.Claim != m.Claim:
		why = "it belongs to claim " + f.mark.Claim
	case m.Cluster != "" && f.mark.Cluster != "" && f.mark.Cluster != m.Cluster:
		why = fmt.Sprintf("it belongs to cluster %q", f.mark.Cluster)
	case f.config.Template || f.row.Template != 0:
		why = "it is a template"
	case !p.inRange(f.row.vmid()):
		why = "its number is not in our range"
	}
	if why == "" {
		return nil
	}
	refused := notOurs(f, why)
	refused.Op = op
	return refused
}

// absent tells what is gone from what was never ours.
func (p *Provider) absent(ctx context.Context, op string, m provider.Machine, proof gate.Proof) error {
	v, err := p.look(ctx)
	if err != nil {
		return err
	}
	if err := p.othersVM(ctx, op, v, m); err != nil {
		return err
	}
	vmid, err := strconv.Atoi(string(m.ID))
	if err == nil {
		p.mu.Lock()
		if p.reserved[vmid].uid == m.ClaimUID || v.guest(vmid) == nil {
			delete(p.reserved, vmid)
			delete(p.known, vmid)
			delete(p.deleting, vmid)
			delete(p.started, vmid)
			delete(p.asked, vmid)
		}
		p.mu.Unlock()
	}
	gone := p.proveAbsent(ctx, op, m)
	if errors.Is(gone, provider.ErrNotFound) && m.Seeded {
		if err := provider.Spend(proof, gate.Delete, m, gate.Identity{}, p.now()); err != nil {
			return err
		}
		if err := p.sweep(ctx, op, v, m); err != nil {
			return err
		}
	}
	return gone
}

// othersVM is ErrRefused where the number of a machine that is not there is somebody else's.
func (p *Provider) othersVM(ctx context.Context, op string, v *view, m provider.Machine) error {
	vmid, _ := strconv.Atoi(string(m.ID)) // what is no number is no VM, as 0 is none
	if p.othersAt(vmid, m) {
		return &provider.Error{Op: op, Kind: provider.ErrRefused, Err: errors.New("the number belongs to another claim")}
	}
	if kept := v.guest(vmid); kept != nil {
		if mark, ours, err := p.markOf(ctx, kept); err != nil || !ours || mark.Stage != stageKept {
			return &provider.Error{Op: op, Kind: provider.ErrRefused, Err: errors.New("the VM with this number is not the claim's")}
		}
	}
	return nil
}

func (p *Provider) othersAt(vmid int, m provider.Machine) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o, reserved := p.reserved[vmid]
	w := p.works[vmid]
	return reserved && o.uid != m.ClaimUID || w != nil && w.uid != m.ClaimUID
}

// remove takes a machine that is ours one step nearer to its end. The disks of one that is kept are used again: it is shut down as
// for a restart.
func (p *Provider) remove(ctx context.Context, op string, f *found) error {
	switch {
	case f.work != nil && f.work.what != "start":
		return nil // what is under way comes to its end first
	case f.row.Lock != "" && f.status != "running":
		return &provider.Error{Op: op, Kind: provider.ErrBusy, Err: fmt.Errorf("VM is locked (%s)", f.row.Lock),
			Hint: fmt.Sprintf("if nothing works on it any more: qm unlock %d", f.row.vmid())}
	case f.status == "running" && f.work == nil && f.mark.Keep:
		_, err := p.powerOff(ctx, f)
		return err
	case f.status == "running" || f.work != nil:
		_, err := p.act(ctx, f, "stop", http.MethodPost, "/status/stop", nil)
		return err
	case f.status != "stopped":
		return &provider.Error{Op: op, Kind: provider.ErrUnknown, Err: fmt.Errorf("it is %s, neither running nor stopped", f.status)}
	case f.mark.seeded():
		return p.discard(ctx, f)
	case f.mark.Keep && f.mark.Stage == stageMade:
		return p.keep(ctx, f)
	}
	_, err := p.act(ctx, f, "destroy", http.MethodDelete, "", map[string]any{"purge": 1})
	return err
}

// keep takes the claim off a stopped machine.
func (p *Provider) keep(ctx context.Context, f *found) error {
	m := mark{Provider: f.mark.Provider, Cluster: f.mark.Cluster, Pool: f.mark.Pool, Shape: f.mark.Shape,
		Stage: stageKept, Node: f.mark.name(), VMID: f.row.vmid()}
	s := map[string]any{"description": m.note(p.spec.Description), "tags": marks(f.config, nil, tagKept)}
	if f.config.Digest != "" {
		s["digest"] = f.config.Digest
	}
	op := fmt.Sprintf("keep VM %d on host %s", f.row.vmid(), f.row.Node)
	defer p.changes.Add(1)
	if err := p.client.put(ctx, op, qemu(f.row.Node, f.row.vmid())+"/config", s); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reserved, f.row.vmid())
	delete(p.deleting, f.row.vmid())
	delete(p.started, f.row.vmid())
	delete(p.asked, f.row.vmid())
	return nil
}
