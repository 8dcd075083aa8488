package proxmox

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/provider"
)

// List returns every machine with our mark, the kept ones included.
func (p *Provider) List(ctx context.Context) ([]provider.Machine, error) {
	const op = "list machines"
	if err := over(ctx, op); err != nil {
		return nil, err
	}
	v, err := p.look(ctx)
	if err != nil {
		return nil, err
	}
	if !v.whole {
		return nil, blind(op)
	}
	var list []provider.Machine
	for i := range v.guests {
		r := &v.guests[i]
		if !p.candidate(r) {
			continue
		}
		m, ours, err := p.markOf(ctx, r)
		if err != nil {
			return nil, err
		}
		if !ours {
			continue
		}
		f := &found{row: r, mark: m, status: r.Status, work: p.workOn(r.vmid())}
		listed := p.machine(f)
		if m.Stage == stageKept {
			listed.State, listed.ProviderID, listed.SystemUUID, listed.NodeName = provider.StateKept, "", "", ""
		}
		list = append(list, listed)
	}
	list = append(list, p.unseen(v)...)
	slices.SortFunc(list, func(a, b provider.Machine) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list, nil
}

// unseen are the machines whose clones run and that are in no listing yet. A clone whose answer was lost counts only when
// its number was seen to be taken.
func (p *Provider) unseen(v *view) []provider.Machine {
	p.mu.Lock()
	var hidden []*work
	for vmid, w := range p.works {
		if w.making() && (w.id.text != "" || w.there) && v.guest(vmid) == nil {
			hidden = append(hidden, w)
		}
	}
	p.mu.Unlock()
	var list []provider.Machine
	for _, w := range hidden {
		list = append(list, p.machine(p.unborn(w)))
	}
	return list
}

// markOf returns the mark of a row: known, or read once. A VM that is being cloned by us is ours without one.
func (p *Provider) markOf(ctx context.Context, r *row) (mark, bool, error) {
	p.mu.Lock()
	w, k := p.works[r.vmid()], p.known[r.vmid()]
	p.mu.Unlock()
	if w != nil && w.making() && r.beingMade() {
		return p.cloning(w), true, nil
	}
	if k.ok && k.tags == r.Tags && k.name == r.Name && k.mark.Stage != stageCloned && r.tagged(tagOurs) {
		return k.mark, k.mark.Stage != "", nil
	}
	c := &vmConfig{}
	if err := p.client.get(ctx, fmt.Sprintf("read VM %d", r.vmid()), qemu(r.Node, r.vmid())+"/config", c); err != nil {
		if k.ok && k.mark.UID != "" && r.tagged(tagOf(k.mark.UID)) {
			return k.mark, true, nil // its host is away, and the tag says that it is still what it was
		}
		return mark{}, false, &provider.Error{Op: "list machines", Kind: provider.ErrUnknown, Err: err}
	}
	m, _ := p.markIn(r, c)
	p.learn(r, m, true)
	return m, m.Stage != "", nil
}

func (p *Provider) cloning(w *work) mark {
	return mark{Provider: p.config.Name, Cluster: w.cluster, Claim: w.claim, UID: w.uid, Attempt: w.attempt, Stage: stageCloned}
}
