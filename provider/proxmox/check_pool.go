package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

var _ provider.PoolChecker = (*Provider)(nil)

// CheckPool looks at what a pool sets of its own, and whether there is a host for its shapes.
func (p *Provider) CheckPool(ctx context.Context, pool *v1alpha1.NodePool) []provider.Finding {
	spec, err := specFor(p.spec, pool.Spec.Template.Proxmox)
	if err != nil {
		return []provider.Finding{problem("template.proxmox", &provider.Error{Kind: provider.ErrMisconfigured, Err: err,
			Hint: "what a pool sets replaces what its Provider says: see docs/proxmox.md"})}
	}
	v, err := p.look(ctx)
	if err != nil {
		return []provider.Finding{problem("cluster", err)}
	}
	var found []provider.Finding
	if pool.Spec.Template.Proxmox != nil {
		found = p.checkMachines(ctx, v, spec)
	}
	templates, err := p.templates(ctx, v, spec)
	if err != nil {
		return found // the reason is among what was found, here or of the Provider
	}
	return append(found, p.checkShapes(v, spec, templates, pool)...)
}

// checkShapes says of each shape whether a host could ever take it, and whether one can now.
func (p *Provider) checkShapes(v *view, spec *v1alpha1.Proxmox, templates []template, pool *v1alpha1.NodePool) (found []provider.Finding) {
	p.mu.Lock()
	hosts := p.hosts(v, spec, templates, pool.Name)
	p.mu.Unlock()
	empty := slices.Clone(hosts)
	for i := range empty {
		empty[i].CommittedCPU, empty[i].CommittedMemory, empty[i].Used, empty[i].OfPool = 0, 0, 0, 0
	}
	for _, s := range sizesOf(&pool.Spec.Template) {
		subject := "shape " + s.Name
		cores, megabytes, err := sizeOf(provider.Request{Claim: pool.Name, Resources: s.Resources})
		if err != nil {
			found = append(found, problem(subject, err))
			continue
		}
		need := want{CPU: float64(cores), Memory: float64(megabytes)*mebi + overheadOf(spec)}
		if _, never := place(empty, need, &spec.Placement, ""); never != nil {
			found = append(found, problem(subject, &provider.Error{Kind: provider.ErrMisconfigured,
				Err: fmt.Errorf("%w, were they empty", never), Hint: "see placement, its hostSelector and hostLabels, or make the shape smaller"}))
			continue
		}
		name, full := place(hosts, need, &spec.Placement, "")
		if full != nil {
			found = append(found, provider.Finding{Subject: subject, Level: provider.LevelWarning, Message: full.Error(),
				Hint: "other pools serve until there is room"})
			continue
		}
		found = append(found, fine(subject, "has room, for example on host "+name))
	}
	return found
}

// sizesOf are a pool's shapes; of a range, its smallest.
func sizesOf(t *v1alpha1.NodeTemplate) []v1alpha1.Shape {
	if t.Range == nil {
		return t.Shapes
	}
	return []v1alpha1.Shape{{Name: "of the smallest size", Resources: corev1.ResourceList{corev1.ResourceCPU: t.Range.CPU.Min,
		corev1.ResourceMemory: t.Range.Memory.Min}}}
}

// takes says that a storage of this name has a kind of content, on whatever host.
func takes(v *view, storage, content string) bool {
	return slices.ContainsFunc(v.stores, func(s row) bool {
		return s.Storage == storage && slices.Contains(strings.Split(s.Content, ","), content)
	})
}

// checkStores looks for the storages that a specification names for disks.
func (p *Provider) checkStores(v *view, spec *v1alpha1.Proxmox) (found []provider.Finding) {
	named := []string{spec.Storage}
	if spec.Netboot != nil {
		named = []string{spec.Netboot.Storage}
	}
	for _, storage := range named {
		if storage == "" {
			continue
		}
		if !takes(v, storage, "images") {
			found = append(found, problem("storage "+storage, &provider.Error{Kind: provider.ErrMisconfigured,
				Err:  errors.New("no storage of this name takes disks, as far as the token sees"),
				Hint: "pvesm set " + storage + " --content images, and give the token Datastore.AllocateSpace on it"}))
			continue
		}
		found = append(found, fine("storage "+storage, "takes disks"))
	}
	return found
}

// checkBridges looks for the bridges of the networks on every host that may be chosen. One that the token may not use is not
// told.
func (p *Provider) checkBridges(ctx context.Context, v *view, spec *v1alpha1.Proxmox) (found []provider.Finding) {
	if len(spec.Networks) == 0 {
		return nil
	}
	lacking, hosts := map[string][]string{}, 0
	for i := range v.hosts {
		h := &v.hosts[i]
		if h.Status != "online" || !allowed(h.Node, p.spec.HostLabels, &spec.Placement) {
			continue
		}
		var devices []struct {
			Name string `json:"iface"`
		}
		op := "read the networks of host " + h.Node
		if err := p.client.get(ctx, op, "/nodes/"+url.PathEscape(h.Node)+"/network?type=any_bridge", &devices); err != nil {
			f := problem("networks of host "+h.Node, err)
			f.Level = provider.LevelWarning
			found = append(found, f)
			continue
		}
		hosts++
		for _, n := range spec.Networks {
			there := false
			for _, d := range devices {
				there = there || d.Name == n.Bridge
			}
			if !there && !slices.Contains(lacking[n.Bridge], h.Node) {
				lacking[n.Bridge] = append(lacking[n.Bridge], h.Node)
			}
		}
	}
	return append(found, tellBridges(spec.Networks, lacking, hosts)...)
}

func tellBridges(networks []v1alpha1.ProxmoxNetwork, lacking map[string][]string, hosts int) (found []provider.Finding) {
	var told []string
	for _, n := range networks {
		if slices.Contains(told, n.Bridge) || hosts == 0 {
			continue
		}
		told = append(told, n.Bridge)
		f := fine("bridge "+n.Bridge, fmt.Sprintf("on %d hosts", hosts))
		if without := lacking[n.Bridge]; len(without) > 0 {
			f = provider.Finding{Subject: "bridge " + n.Bridge, Level: provider.LevelWarning,
				Message: "not on " + strings.Join(without, ", ") + ", or not for the token",
				Hint:    "make the bridge there, give the token SDN.Use on its zone, or keep these hosts out by placement"}
			if len(without) == hosts {
				f.Level = provider.LevelError
			}
		}
		found = append(found, f)
	}
	return found
}

// allowed says that the rules of placement leave a host, whatever room it has.
func allowed(name string, labels []v1alpha1.ProxmoxHostLabels, p *v1alpha1.ProxmoxPlacement) bool {
	h := host{Name: name, Online: true}
	for _, l := range labels {
		if l.Host == name {
			h.Labels = l.Labels
		}
	}
	return (len(p.Hosts) == 0 || slices.Contains(p.Hosts, name)) && !slices.Contains(p.ExcludedHosts, name) && labelled(h, p.HostSelector)
}
