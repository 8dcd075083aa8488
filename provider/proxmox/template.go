package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// template is what machines are cloned from.
type template struct {
	row     *row
	storage string
	// shared says that every host sees the storage.
	shared bool
}

// templates are those that the spec chooses and whose host answers: a host that is away takes its templates along, and no
// others. Machines that boot from the network have none.
func (p *Provider) templates(ctx context.Context, v *view, spec *v1alpha1.Proxmox) ([]template, error) {
	if spec.Netboot != nil {
		return nil, nil
	}
	var all []template
	var away error
	for i := range v.guests {
		r := &v.guests[i]
		if r.Type != "qemu" || r.Template == 0 || !chosen(spec.Template, r) {
			continue
		}
		storage, err := p.storageOf(ctx, r)
		if err != nil {
			if errors.Is(err, provider.ErrMisconfigured) || ctx.Err() != nil {
				return nil, err
			}
			away = err
			continue
		}
		t := template{row: r, storage: storage}
		t.shared = slices.ContainsFunc(v.stores, func(s row) bool { return s.Storage == t.storage && s.Shared != 0 })
		all = append(all, t)
	}
	if len(all) == 0 && away != nil {
		return nil, away
	}
	if len(all) == 0 {
		return nil, &provider.Error{Op: "look for the template", Kind: provider.ErrMisconfigured,
			Err:  fmt.Errorf("no template has %s", wanted(spec.Template)),
			Hint: "see spec.proxmox.template, and that the token has VM.Audit and VM.Clone on it"}
	}
	return all, nil
}

// knownTemplate is where a template's disk was, for as long as nobody changes the template's host, name or tags.
type knownTemplate struct {
	host, name, tags, storage string
	at                        time.Time
}

// templateAge is how many times older than a look at the cluster what is known of a template may be. While many claims wait
// for their turn to clone, each try would read every template.
const templateAge = 30

// storageOf reads where the disk of a template is, or remembers.
func (p *Provider) storageOf(ctx context.Context, r *row) (string, error) {
	now := p.now()
	p.mu.Lock()
	known := p.storages[r.vmid()]
	p.mu.Unlock()
	fresh := knownTemplate{host: r.Node, name: r.Name, tags: r.Tags, storage: known.storage, at: known.at}
	if known == fresh && now.Sub(known.at) < p.config.ViewAge*templateAge {
		return known.storage, nil
	}
	c := &vmConfig{}
	if err := p.client.get(ctx, fmt.Sprintf("read template %d", r.vmid()), qemu(r.Node, r.vmid())+"/config", c); err != nil {
		return "", err
	}
	_, fresh.storage = c.bootDisk()
	fresh.at = now
	p.mu.Lock()
	defer p.mu.Unlock()
	p.storages[r.vmid()] = fresh
	return fresh.storage, nil
}

func chosen(t v1alpha1.ProxmoxTemplate, r *row) bool {
	switch {
	case t.ID != 0:
		return r.vmid() == int(t.ID)
	case t.Name != "":
		return r.Name == t.Name
	}
	return r.tagged(t.Tag)
}

func wanted(t v1alpha1.ProxmoxTemplate) string {
	switch {
	case t.ID != 0:
		return fmt.Sprintf("id %d", t.ID)
	case t.Name != "":
		return "name " + t.Name
	}
	return "tag " + t.Tag
}

// templateFor prefers the template on the host itself.
func templateFor(templates []template, host string) template {
	best := templates[0]
	for _, t := range templates {
		if t.row.Node == host {
			return t
		}
		if t.shared {
			best = t
		}
	}
	return best
}

// hosts are the hosts that a template can be cloned to, with what runs there and what is in flight. A template on local
// storage serves its own host only. Without a template every host will do.
func (p *Provider) hosts(v *view, spec *v1alpha1.Proxmox, templates []template, pool string) []host {
	overhead := overheadOf(spec)
	var all []host
	for i := range v.hosts {
		r := &v.hosts[i]
		h := host{Name: r.Node, Online: r.Status == "online", CPU: float64(r.MaxCPU), Memory: float64(r.MaxMem), Used: float64(r.Mem)}
		for _, l := range p.spec.HostLabels {
			if l.Host == r.Node {
				h.Labels = l.Labels
			}
		}
		reachable := spec.Netboot != nil || slices.ContainsFunc(templates, func(t template) bool {
			source := slices.ContainsFunc(v.hosts, func(s row) bool { return s.Node == t.row.Node && s.Status == "online" })
			return source && (t.shared || t.row.Node == r.Node)
		})
		if reachable {
			p.load(v, &h, pool, overhead)
			all = append(all, h)
		}
	}
	return all
}

// overheadOf is what a host needs for one machine beside its memory, in bytes.
func overheadOf(spec *v1alpha1.Proxmox) float64 {
	if q := spec.Placement.MemoryOverhead; q != nil {
		return q.AsApproximateFloat64()
	}
	return 0
}

// load adds up what a host has promised: running VMs, ours whatever they do, and clones that are not to be seen yet.
func (p *Provider) load(v *view, h *host, pool string, overhead float64) {
	for i := range v.guests {
		g := &v.guests[i]
		ours := p.candidate(g) && (g.tagged(tagOurs) || p.works[g.vmid()] != nil)
		if g.Node != h.Name || g.Template != 0 || g.Status == "stopped" && (!ours || g.tagged(tagKept)) {
			continue
		}
		cpu, memory := float64(g.MaxCPU), float64(g.MaxMem)
		if w := p.works[g.vmid()]; w != nil && w.making() {
			cpu, memory = w.need.CPU, w.need.Memory-overhead
		}
		h.CommittedCPU += cpu
		h.CommittedMemory += memory
		if ours {
			h.CommittedMemory += overhead
			h.Ours++
			if p.poolOf(g.vmid()) == pool {
				h.OfPool++
			}
		}
	}
	for vmid, w := range p.works {
		if w.making() && w.host == h.Name && v.guest(vmid) == nil {
			h.CommittedCPU += w.need.CPU
			h.CommittedMemory += w.need.Memory
			h.Ours++
			if w.pool == pool {
				h.OfPool++
			}
		}
	}
}

func (p *Provider) poolOf(vmid int) string {
	if w := p.works[vmid]; w != nil && w.pool != "" {
		return w.pool
	}
	return p.known[vmid].mark.Pool
}
