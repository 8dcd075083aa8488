package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	pve "github.com/luthermonson/go-proxmox"

	"github.com/muster-sh/muster/provider"
)

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
	m := mark{Provider: p.config.Name, Cluster: r.Cluster, Claim: r.Claim, UID: r.ClaimUID, Attempt: r.Attempt, Pool: r.Pool, Shape: r.Shape,
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
	w := &work{owner: owner{r.ClaimUID, r.Attempt}, what: "clone", vmid: vmid, claim: r.Claim, cluster: r.Cluster, asked: p.now(), host: name,
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
