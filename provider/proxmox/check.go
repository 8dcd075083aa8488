package proxmox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// Check tries reach, token, permissions, template, hosts and numbers.
func (p *Provider) Check(ctx context.Context) []provider.Finding {
	found, reached := p.tryEndpoints(ctx)
	if !reached {
		return found
	}
	p.viewing.Lock()
	p.rights, p.view = nil, nil
	p.viewing.Unlock()
	p.mu.Lock()
	clear(p.storages)
	p.mu.Unlock()
	v, err := p.look(ctx)
	if err != nil {
		return append(found, problem("cluster", err))
	}
	found = append(found, p.checkMachines(ctx, v, p.spec)...)
	return append(found, p.checkNumbers(v))
}

// checkMachines looks at all that machines of a specification need.
func (p *Provider) checkMachines(ctx context.Context, v *view, spec *v1alpha1.Proxmox) (found []provider.Finding) {
	templates, err := p.templates(ctx, v, spec)
	if err != nil {
		found = append(found, problem("template", err))
	}
	for _, t := range templates {
		found = append(found, fine(fmt.Sprintf("template %d", t.row.vmid()), fmt.Sprintf("on host %s, storage %s", t.row.Node, t.storage)))
	}
	found = append(found, p.checkRights(spec, templates)...)
	found = append(found, p.checkHosts(v, spec, templates)...)
	found = append(found, p.checkStores(v, spec)...)
	found = append(found, p.checkBridges(ctx, v, spec)...)
	return append(found, p.checkJoin(ctx, v, spec)...)
}

// tryEndpoints asks each endpoint for its version. One that does not answer is a warning while another one does.
func (p *Provider) tryEndpoints(ctx context.Context) (found []provider.Finding, reached bool) {
	all := p.client.endpoints
	for i := range all.bases {
		subject := "endpoint " + all.name(i)
		var version struct {
			Version string `json:"version"`
		}
		if err := p.client.get(context.WithValue(ctx, onlyAt{}, i), "ask for the version", "/version", &version); err != nil {
			found = append(found, problem(subject, err))
			continue
		}
		reached = true
		found = append(found, fine(subject, "Proxmox VE "+version.Version))
	}
	for i := range found {
		if reached && found[i].Level == provider.LevelError {
			found[i].Level = provider.LevelWarning
		}
	}
	return found, reached
}

func fine(subject, message string) provider.Finding {
	return provider.Finding{Subject: subject, Level: provider.LevelOK, Message: message}
}

func problem(subject string, err error) provider.Finding {
	f := provider.Finding{Subject: subject, Level: provider.LevelError, Message: err.Error(), Hint: provider.HintOf(err)}
	var e *provider.Error
	if errors.As(err, &e) && e.Err != nil {
		f.Message = e.Err.Error()
	}
	return f
}

// needed are the permissions on machines, which are in the pool if there is one.
var needed = []string{"VM.Allocate", "VM.Audit", "VM.Config.CPU", "VM.Config.Cloudinit", "VM.Config.Disk", "VM.Config.Memory",
	"VM.Config.Network", "VM.Config.Options", "VM.PowerMgmt"}

func (p *Provider) checkRights(spec *v1alpha1.Proxmox, templates []template) []provider.Finding {
	p.viewing.Lock()
	r := p.rights
	p.viewing.Unlock()
	machines := "/vms"
	if p.spec.Pool != "" {
		machines = "/pool/" + p.spec.Pool
	}
	var found []provider.Finding
	demand := func(path string, permissions ...string) {
		var missing []string
		for _, name := range permissions {
			if !r.has(path, name) {
				missing = append(missing, name)
			}
		}
		f := fine("permissions on "+path, "complete")
		if len(missing) > 0 {
			f = provider.Finding{Subject: "permissions on " + path, Level: provider.LevelError,
				Message: "missing " + strings.Join(missing, " "),
				Hint:    "pveum acl modify " + path + " --tokens '<tokenID>' --roles <a role with these>; see docs/proxmox.md"}
		}
		found = append(found, f)
	}
	if j := spec.Join; j != nil {
		demand(machines, append(slices.Clone(needed), "VM.Config.CDROM")...)
		demand("/storage/"+j.Storage, "Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit")
	} else {
		demand(machines, needed...)
	}
	if n := spec.Netboot; n != nil && n.Storage != "" {
		demand("/storage/"+n.Storage, "Datastore.AllocateSpace")
	}
	for _, t := range templates {
		path := fmt.Sprintf("/vms/%d", t.row.vmid())
		if !r.has(path, "VM.Clone") && p.spec.Pool != "" && t.row.Pool == p.spec.Pool {
			path = machines
		}
		demand(path, "VM.Audit", "VM.Clone")
		storage := t.storage
		if spec.Storage != "" {
			storage = spec.Storage
		}
		if storage != "" {
			demand("/storage/"+storage, "Datastore.AllocateSpace", "Datastore.Audit") // without the latter it is not seen to be shared
		}
	}
	return found
}

func (p *Provider) checkHosts(v *view, spec *v1alpha1.Proxmox, templates []template) []provider.Finding {
	var found []provider.Finding
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hosts(v, spec, templates, "") {
		room := h.room(&spec.Placement)
		f := fine("host "+h.Name, fmt.Sprintf("%.1f cores and %.0f MiB left by the rules", room.CPU, room.Memory/mebi))
		if why := unfit(h, want{CPU: 1, Memory: 16 * mebi}, &spec.Placement); why != "" {
			f = provider.Finding{Subject: "host " + h.Name, Level: provider.LevelWarning, Message: why, Hint: "no machine is made there"}
		}
		if h.Memory == 0 {
			f = provider.Finding{Subject: "host " + h.Name, Level: provider.LevelError, Message: "its size cannot be seen",
				Hint: "give the token's role Sys.Audit on /nodes/" + h.Name}
		}
		found = append(found, f)
	}
	return found
}

func (p *Provider) checkNumbers(v *view) provider.Finding {
	free, foreign := int(p.spec.VMIDs.Max-p.spec.VMIDs.Min)+1, 0
	for i := range v.guests {
		r := &v.guests[i]
		if !p.inRange(r.vmid()) {
			continue
		}
		free--
		if !p.candidate(r) || !r.tagged(tagOurs) {
			foreign++
		}
	}
	f := fine("numbers", fmt.Sprintf("%d free from %d to %d", free, p.spec.VMIDs.Min, p.spec.VMIDs.Max))
	if foreign > 0 {
		f.Level, f.Hint = provider.LevelWarning, "give spec.proxmox.vmids a range of its own; what is not Muster's is never touched"
		f.Message += fmt.Sprintf(", %d VMs there are not Muster's", foreign)
	}
	if free == 0 {
		f.Level = provider.LevelError
	}
	return f
}
