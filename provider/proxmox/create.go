package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/identity"
)

// Create first reserves a number; called with it, it clones, configures and starts, one step a call.
func (p *Provider) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	op := "create " + r.Claim
	if err := over(ctx, op); err != nil {
		return provider.Machine{}, err
	}
	if r.Claim == "" || r.ClaimUID == "" || r.Attempt < 1 {
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrRefused,
			Err: fmt.Errorf("claim %q, UID %q, attempt %d: all three must be set", r.Claim, r.ClaimUID, r.Attempt)}
	}
	if _, _, err := sizeOf(r); err != nil {
		return provider.Machine{}, err
	}
	spec, err := specFor(p.spec, r.Proxmox)
	if err != nil {
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrRefused, Err: err, Hint: "see the pool's template.proxmox"}
	}
	defer p.claims.lock(string(r.ClaimUID))()
	recorded := r.ID
	if recorded == "" {
		recorded = nowhere
	}
	f, err := p.observe(ctx, r.ClaimUID, recorded)
	var failed *cloneError
	switch {
	case r.Joined && errors.Is(err, errAbsent):
		was := provider.Machine{ID: r.ID, ClaimUID: r.ClaimUID, ProviderID: string(r.ID)} // it was there: its node has registered
		return provider.Machine{}, p.proveAbsent(ctx, op, was)
	case r.Joined && err == nil:
		return p.joined(ctx, op, r, f)
	case errors.As(err, &failed):
		return provider.Machine{}, failedTask(fmt.Sprintf("%s: clone to VM %s", op, r.ID), failed.failure)
	case errors.Is(err, errAbsent):
		return p.make(ctx, op, r, spec)
	case err != nil:
		return provider.Machine{}, err
	case f.mark.Attempt > r.Attempt:
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrRefused,
			Err: fmt.Errorf("attempt %d is over", r.Attempt)}
	}
	if why := f.speaksAgainst(); why != "" {
		return provider.Machine{}, notOurs(f, why)
	}
	m := p.machine(f)
	if f.mark.Attempt < r.Attempt || m.State == provider.StateDeleting {
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrBusy,
			Err: fmt.Errorf("VM %s of attempt %d has to go first", m.ID, m.Attempt)}
	}
	if m.State != provider.StatePending {
		return m, nil
	}
	return p.proceed(ctx, r, f, spec)
}

// nowhere says that no number was recorded: a clone comes after that, so there is none.
const nowhere provider.ID = "-"

// make reserves a number, or uses the one that was.
func (p *Provider) make(ctx context.Context, op string, r provider.Request, spec *v1alpha1.Proxmox) (provider.Machine, error) {
	v, err := p.look(ctx)
	if err != nil {
		return provider.Machine{}, err
	}
	vmid, err := strconv.Atoi(string(r.ID))
	if err != nil || !p.inRange(vmid) {
		return p.reserve(ctx, op, v, r)
	}
	if there := v.guest(vmid); there != nil {
		if m, ours, err := p.markOf(ctx, there); err == nil && ours && m.Stage == stageKept {
			return p.wake(ctx, r, there, spec)
		}
		p.release(vmid, r)
		return p.reserve(ctx, op, v, r) // somebody took the number: nothing of ours is there
	}
	if spec.Netboot != nil {
		return p.build(ctx, op, v, vmid, r, spec)
	}
	return p.clone(ctx, op, v, vmid, r, spec)
}

// failedTask is the error of a task that left nothing behind.
func failedTask(op, failure string) error {
	hint, kind := kindOfText(failure)
	return &provider.Error{Op: op, Kind: kind, Hint: hint, Err: errors.New(failure)}
}

// proceed takes a VM that does not run and on which nothing goes on to its next step.
func (p *Provider) proceed(ctx context.Context, r provider.Request, f *found, spec *v1alpha1.Proxmox) (provider.Machine, error) {
	if f.mark.Stage == stageCloned {
		if err := p.configure(ctx, r, f, spec); err != nil {
			return provider.Machine{}, err
		}
		return p.machine(f), nil
	}
	if f.mark.seeded() && f.config.driveOf(f.mark.Seed) == "" {
		return p.equip(ctx, r, f, spec)
	}
	if disk := r.Resources[corev1.ResourceEphemeralStorage]; !disk.IsZero() {
		device, _ := f.config.bootDisk()
		if device != "" && f.config.diskSize(device) < disk.Value() {
			return p.act(ctx, f, "resize", http.MethodPut, "/resize",
				map[string]any{"disk": device, "size": fmt.Sprintf("%dM", (disk.Value()+mebi-1)/mebi)})
		}
	}
	return p.act(ctx, f, "start", http.MethodPost, "/status/start", nil)
}

// configure writes the whole configuration, with the identity that counts from now on.
func (p *Provider) configure(ctx context.Context, r provider.Request, f *found, spec *v1alpha1.Proxmox) error {
	m := f.mark.withSeed(spec.Join)
	m.Node, m.VMID, m.Stage = identity.MadeNodeName(m.Claim, m.UID, m.Attempt), f.row.vmid(), stageMade
	s, err := settings(spec, m, f.row.vmid(), r, f.config)
	if err != nil {
		return err
	}
	op := fmt.Sprintf("configure VM %d on host %s", f.row.vmid(), f.row.Node)
	defer p.changes.Add(1)
	_, err = p.patient(ctx, func() (upid, error) {
		return upid{}, p.client.put(ctx, op, qemu(f.row.Node, f.row.vmid())+"/config", s)
	})
	if err == nil {
		f.mark.Seed, f.mark.Token, f.mark.Node, f.mark.VMID = m.Seed, m.Token, m.Node, m.VMID
	}
	return err
}

// wake gives a kept machine a new identity; it is started by the next call.
func (p *Provider) wake(ctx context.Context, r provider.Request, at *row, spec *v1alpha1.Proxmox) (provider.Machine, error) {
	f, err := p.read(ctx, at)
	if err != nil {
		return provider.Machine{}, err
	}
	if f.mark.Stage != stageKept || f.mark.Cluster != r.Cluster || f.status != "stopped" || f.mark.speaksAgainst(f.config) != "" {
		return provider.Machine{}, &provider.Error{Op: "wake VM " + string(r.ID), Kind: provider.ErrBusy,
			Err: fmt.Errorf("it is not a kept machine any more")}
	}
	f.mark.Claim, f.mark.UID, f.mark.Attempt, f.mark.Keep, f.mark.Shape = r.Claim, r.ClaimUID, r.Attempt, r.Keep, r.Shape
	if err := p.configure(ctx, r, f, spec); err != nil {
		return provider.Machine{}, err
	}
	p.mu.Lock()
	delete(p.started, f.row.vmid())
	delete(p.deleting, f.row.vmid())
	p.mu.Unlock()
	return p.machine(f), nil
}

// act asks for a task on a VM.
func (p *Provider) act(ctx context.Context, f *found, what, method, path string, params any) (provider.Machine, error) {
	w := &work{owner: owner{f.mark.UID, f.mark.Attempt}, what: what, vmid: f.row.vmid(), claim: f.mark.Claim, asked: p.now(),
		host: f.row.Node}
	op := fmt.Sprintf("%s VM %d on host %s", what, w.vmid, w.host)
	id, err := p.patient(ctx, func() (upid, error) {
		return p.client.task(ctx, op, method, qemu(f.row.Node, f.row.vmid())+path, params)
	})
	p.changes.Add(1)
	if err != nil {
		return provider.Machine{}, err
	}
	w.id, f.work = id, w
	p.begin(w)
	return p.machine(f), nil
}

// patient repeats what a lock stood in the way of; nothing was done then.
func (p *Provider) patient(ctx context.Context, do func() (upid, error)) (upid, error) {
	const tries = 3
	for try := 1; ; try++ {
		id, err := do()
		if err == nil || try == tries || !errors.Is(err, provider.ErrBusy) || dial.Wait(ctx, dial.Jitter(p.config.Pause<<try)) != nil {
			return id, err
		}
	}
}

func notOurs(f *found, why string) *provider.Error {
	hint := "somebody has changed the VM: put back what is missing, or remove it by hand"
	if len(f.others) > 0 {
		hint = otherHint(f.mark.UID)
	}
	return &provider.Error{Op: fmt.Sprintf("touch VM %d", f.row.vmid()), Kind: provider.ErrRefused, Err: errors.New(why), Hint: hint}
}
