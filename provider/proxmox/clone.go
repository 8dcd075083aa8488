package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	pve "github.com/luthermonson/go-proxmox"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// clone chooses a template and a host and asks for the clone.
func (p *Provider) clone(ctx context.Context, op string, v *view, vmid int, r provider.Request, spec *v1alpha1.Proxmox) (provider.Machine, error) {
	templates, err := p.templates(ctx, v, spec)
	if err != nil {
		return provider.Machine{}, err
	}
	w, t, err := p.choose(op, v, spec, templates, vmid, r)
	if err != nil {
		return provider.Machine{}, err
	}
	m := p.markFor(r, vmid, stageCloned)
	options := &pve.VirtualMachineCloneOptions{NewID: vmid, Name: m.name(), Description: m.note(spec.Description),
		Pool: p.spec.Pool}
	if spec.Clone == "Full" {
		options.Full, options.Storage = true, spec.Storage
	}
	if w.host != t.row.Node {
		options.Target = w.host
	}
	what := fmt.Sprintf("%s: clone template %d to VM %d on host %s", op, t.row.vmid(), vmid, w.host)
	return p.order(ctx, w, func() (upid, error) {
		return p.client.task(ctx, what, http.MethodPost, qemu(t.row.Node, t.row.vmid())+"/clone", options)
	})
}

func (p *Provider) markFor(r provider.Request, vmid int, s stage) mark {
	return mark{Provider: p.config.Name, Cluster: r.Cluster, Claim: r.Claim, UID: r.ClaimUID, Attempt: r.Attempt, Pool: r.Pool, Shape: r.Shape,
		Keep: r.Keep, Stage: s, Node: identity.MadeNodeName(r.Claim, r.ClaimUID, r.Attempt), VMID: vmid}
}

// order asks for the task that makes a machine, and remembers what became of the call.
func (p *Provider) order(ctx context.Context, w *work, call func() (upid, error)) (provider.Machine, error) {
	id, err := p.patient(ctx, call)
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

// choose takes a place for a machine under the lock, so that machines asked for at once count each other.
func (p *Provider) choose(op string, v *view, spec *v1alpha1.Proxmox, templates []template, vmid int, r provider.Request) (*work, template, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cores, megabytes, err := sizeOf(r)
	if err != nil {
		return nil, template{}, err
	}
	need := want{CPU: float64(cores), Memory: float64(megabytes)*mebi + overheadOf(spec)}
	name, err := place(p.hosts(v, spec, templates, r.Pool), need, &spec.Placement, p.last)
	if err != nil {
		return nil, template{}, &provider.Error{Op: op, Kind: provider.ErrNoCapacity, Err: err}
	}
	w := &work{owner: owner{r.ClaimUID, r.Attempt}, vmid: vmid, claim: r.Claim, cluster: r.Cluster,
		asked: p.now(), host: name, pool: r.Pool, need: need}
	var t template
	if spec.Netboot != nil {
		w.what, w.source, w.storage = "create", name, spec.Netboot.Storage
	} else {
		t = templateFor(templates, name)
		w.what, w.source, w.storage = "clone", t.row.Node, t.storage
		if spec.Storage != "" {
			w.storage = spec.Storage
		}
	}
	if err := p.crowded(op, w); err != nil {
		return nil, template{}, err
	}
	p.last = name
	p.works[vmid] = w
	return w, t, nil
}

// crowded is ErrBusy while as many machines are being made as may be, from one host or on one storage.
func (p *Provider) crowded(op string, next *work) error {
	onHost, onStorage := 0, 0
	for _, w := range p.works {
		if w.making() && w.source == next.source {
			onHost++
		}
		if w.making() && w.storage == next.storage {
			onStorage++
		}
	}
	if onHost >= limit(p.spec.MaxClonesPerHost, 4) || onStorage >= limit(p.spec.MaxClonesPerStorage, 8) {
		return &provider.Error{Op: op, Kind: provider.ErrBusy,
			Err: fmt.Errorf("%d VMs are being made from host %s and %d on storage %s", onHost, next.source, onStorage, next.storage)}
	}
	return nil
}

func limit(set int32, unset int) int {
	if set > 0 {
		return int(set)
	}
	return unset
}
