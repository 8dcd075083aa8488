package proxmox

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"

	pve "github.com/luthermonson/go-proxmox"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
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
	defer p.claims.lock(string(r.ClaimUID))()
	f, err := p.observe(ctx, r.ClaimUID, r.ID)
	var failed *cloneError
	switch {
	case errors.As(err, &failed):
		return provider.Machine{}, failedTask(fmt.Sprintf("%s: clone to VM %s", op, r.ID), failed.failure)
	case errors.Is(err, errAbsent):
		return p.make(ctx, op, r)
	case err != nil:
		return provider.Machine{}, err
	case f.mark.Attempt > r.Attempt:
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrRefused,
			Err: fmt.Errorf("attempt %d is over", r.Attempt)}
	}
	m := p.machine(f)
	if f.mark.Attempt < r.Attempt || m.State == provider.StateDeleting {
		return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrBusy,
			Err: fmt.Errorf("VM %s of attempt %d has to go first", m.ID, m.Attempt)}
	}
	if m.State != provider.StatePending {
		return m, nil
	}
	return p.proceed(ctx, r, f)
}

// make reserves a number, or uses the one that was.
func (p *Provider) make(ctx context.Context, op string, r provider.Request) (provider.Machine, error) {
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
			return p.wake(ctx, r, there)
		}
		p.release(vmid, r)
		return p.reserve(ctx, op, v, r) // somebody took the number: nothing of ours is there
	}
	return p.clone(ctx, op, v, vmid, r)
}

// failedTask is the error of a task that left nothing behind.
func failedTask(op, failure string) error {
	hint, kind := kindOfText(failure)
	return &provider.Error{Op: op, Kind: kind, Hint: hint, Err: errors.New(failure)}
}

// reserve answers with the number of a kept machine of this pool and shape, or with a free one. The same attempt is
// answered with the same number as long as this process remembers.
func (p *Provider) reserve(ctx context.Context, op string, v *view, r provider.Request) (provider.Machine, error) {
	kept, err := p.keptFor(ctx, v, r)
	if err != nil {
		return provider.Machine{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	who := owner{r.ClaimUID, r.Attempt}
	for vmid, o := range p.reserved {
		if o == who && (v.guest(vmid) == nil || slices.Contains(kept, vmid)) {
			return p.reservation(vmid, r), nil
		}
	}
	for _, vmid := range kept {
		if _, taken := p.reserved[vmid]; !taken {
			p.reserved[vmid] = who
			return p.reservation(vmid, r), nil
		}
	}
	size := int(p.spec.VMIDs.Max-p.spec.VMIDs.Min) + 1
	for i := range size {
		vmid := int(p.spec.VMIDs.Min) + (start(who, size)+i)%size
		_, taken := p.reserved[vmid]
		if !taken && p.works[vmid] == nil && v.guest(vmid) == nil {
			p.reserved[vmid] = who
			return p.reservation(vmid, r), nil
		}
	}
	return provider.Machine{}, &provider.Error{Op: op, Kind: provider.ErrNoCapacity, Hint: "widen spec.proxmox.vmids",
		Err: fmt.Errorf("all numbers from %d to %d are taken", p.spec.VMIDs.Min, p.spec.VMIDs.Max)}
}

// start is where the search for a free number begins: claims that look at the same time look at different numbers.
func start(o owner, size int) int {
	h := fnv.New32a()
	_, _ = fmt.Fprintf(h, "%s/%d", o.uid, o.attempt)
	return int(h.Sum32()) % size
}

func (p *Provider) reservation(vmid int, r provider.Request) provider.Machine {
	return provider.Machine{ID: provider.ID(strconv.Itoa(vmid)), Claim: r.Claim, ClaimUID: r.ClaimUID, Attempt: r.Attempt,
		State: provider.StateReserved}
}

func (p *Provider) release(vmid int, r provider.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reserved[vmid] == (owner{r.ClaimUID, r.Attempt}) {
		delete(p.reserved, vmid)
	}
}

// clone chooses a template and a host and asks for the clone.
func (p *Provider) clone(ctx context.Context, op string, v *view, vmid int, r provider.Request) (provider.Machine, error) {
	templates, err := p.templates(ctx, v)
	if err != nil {
		return provider.Machine{}, err
	}
	w, t, err := p.choose(op, v, templates, vmid, r)
	if err != nil {
		return provider.Machine{}, err
	}
	m := mark{Provider: p.config.Name, Claim: r.Claim, UID: r.ClaimUID, Attempt: r.Attempt, Pool: r.Pool, Shape: r.Shape,
		Keep: r.Keep, Stage: stageCloned}
	options := &pve.VirtualMachineCloneOptions{NewID: vmid, Name: nameOf(r.Claim, r.Attempt), Description: m.note(p.spec.Description),
		Pool: p.spec.Pool}
	if p.spec.Clone == "Full" {
		options.Full, options.Storage = true, p.spec.Storage
	}
	if w.host != t.row.Node {
		options.Target = w.host
	}
	what := fmt.Sprintf("%s: clone template %d to VM %d on host %s", op, t.row.vmid(), vmid, w.host)
	id, err := p.patient(ctx, func() (upid, error) {
		return p.client.task(ctx, what, http.MethodPost, qemu(t.row.Node, t.row.vmid())+"/clone", options)
	})
	if err != nil && !errors.Is(err, provider.ErrUnknown) {
		p.finish(w)
		return provider.Machine{}, err
	}
	p.mu.Lock()
	w.id, w.there = id, taken(err)
	p.mu.Unlock()
	p.changes.Add(1)
	if err != nil && !w.there {
		return provider.Machine{}, err
	}
	return p.machine(p.unborn(w)), nil
}

// taken says that a clone was refused because its number is in use. The number was reserved for this very claim, so it is
// taken for our own, of a call whose answer was lost; its notes will tell.
func taken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "already exists")
}

// choose takes a place for the clone under the lock, so that machines asked for at once count each other.
func (p *Provider) choose(op string, v *view, templates []template, vmid int, r provider.Request) (*work, template, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cores, megabytes, err := sizeOf(r)
	if err != nil {
		return nil, template{}, err
	}
	overhead := 0.0
	if q := p.spec.Placement.MemoryOverhead; q != nil {
		overhead = q.AsApproximateFloat64()
	}
	need := want{CPU: float64(cores), Memory: float64(megabytes)*mebi + overhead}
	name, err := place(p.hosts(v, templates, r.Pool, overhead), need, &p.spec.Placement, p.last)
	if err != nil {
		return nil, template{}, &provider.Error{Op: op, Kind: provider.ErrNoCapacity, Err: err}
	}
	t := templateFor(templates, name)
	storage := t.storage
	if p.spec.Storage != "" {
		storage = p.spec.Storage
	}
	onHost, onStorage := 0, 0
	for _, w := range p.works {
		if w.what == "clone" && w.source == t.row.Node {
			onHost++
		}
		if w.what == "clone" && w.storage == storage {
			onStorage++
		}
	}
	if onHost >= limit(p.spec.MaxClonesPerHost, 4) || onStorage >= limit(p.spec.MaxClonesPerStorage, 8) {
		return nil, template{}, &provider.Error{Op: op, Kind: provider.ErrBusy,
			Err: fmt.Errorf("%d clones run from host %s and %d on storage %s", onHost, t.row.Node, onStorage, storage)}
	}
	p.last = name
	w := &work{owner: owner{r.ClaimUID, r.Attempt}, what: "clone", vmid: vmid, claim: r.Claim, asked: p.now(), host: name,
		source: t.row.Node, storage: storage, pool: r.Pool, need: need}
	p.works[vmid] = w
	return w, t, nil
}

func limit(set int32, unset int) int {
	if set > 0 {
		return int(set)
	}
	return unset
}

// proceed takes a VM that does not run and on which nothing goes on to its next step.
func (p *Provider) proceed(ctx context.Context, r provider.Request, f *found) (provider.Machine, error) {
	if f.mark.Stage == stageCloned {
		if err := p.configure(ctx, r, f); err != nil {
			return provider.Machine{}, err
		}
		return p.machine(f), nil
	}
	if why := f.mark.identity(f.config); why != "" {
		return provider.Machine{}, notOurs(f, why)
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
func (p *Provider) configure(ctx context.Context, r provider.Request, f *found) error {
	m := f.mark
	m.Stage = stageMade
	s, err := settings(p.spec, m, f.row.vmid(), r, f.config)
	if err != nil {
		return err
	}
	op := fmt.Sprintf("configure VM %d on host %s", f.row.vmid(), f.row.Node)
	defer p.changes.Add(1)
	_, err = p.patient(ctx, func() (upid, error) {
		return upid{}, p.client.put(ctx, op, qemu(f.row.Node, f.row.vmid())+"/config", s)
	})
	return err
}

// wake gives a kept machine a new identity; it is started by the next call.
func (p *Provider) wake(ctx context.Context, r provider.Request, at *row) (provider.Machine, error) {
	f, err := p.read(ctx, at)
	if err != nil {
		return provider.Machine{}, err
	}
	if f.mark.Stage != stageKept || f.status != "stopped" || f.mark.identity(f.config) != "" {
		return provider.Machine{}, &provider.Error{Op: "wake VM " + string(r.ID), Kind: provider.ErrBusy,
			Err: fmt.Errorf("it is not a kept machine any more")}
	}
	f.mark.Claim, f.mark.UID, f.mark.Attempt, f.mark.Keep, f.mark.Shape = r.Claim, r.ClaimUID, r.Attempt, r.Keep, r.Shape
	if err := p.configure(ctx, r, f); err != nil {
		return provider.Machine{}, err
	}
	p.mu.Lock()
	delete(p.started, f.row.vmid())
	delete(p.deleting, f.row.vmid())
	p.mu.Unlock()
	return p.machine(f), nil
}

// keptFor lists the kept machines that fit, by their number.
func (p *Provider) keptFor(ctx context.Context, v *view, r provider.Request) ([]int, error) {
	var kept []int
	for i := range v.guests {
		at := &v.guests[i]
		if !p.candidate(at) || !at.tagged(tagKept) {
			continue
		}
		m, ours, err := p.markOf(ctx, at)
		if err != nil {
			return nil, err
		}
		if ours && m.Stage == stageKept && m.Pool == r.Pool && m.Shape == r.Shape {
			kept = append(kept, at.vmid())
		}
	}
	return kept, nil
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

func notOurs(f *found, why string) error {
	return &provider.Error{Op: fmt.Sprintf("touch VM %d", f.row.vmid()), Kind: provider.ErrRefused, Err: errors.New(why),
		Hint: "somebody has changed the VM: put back what is missing, or remove it by hand"}
}
