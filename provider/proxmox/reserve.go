package proxmox

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/muster-sh/muster/provider"
)

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

// keptFor lists the kept machines that fit, by their number.
func (p *Provider) keptFor(ctx context.Context, v *view, r provider.Request) ([]int, error) {
	var kept []int
	for i := range v.guests {
		at := &v.guests[i]
		if !p.candidate(at) || !at.tagged(tagKept) || !v.online(at.Node) {
			continue // also one on a host that is away, where nothing can be woken
		}
		m, ours, err := p.markOf(ctx, at)
		if err != nil {
			return nil, err
		}
		if ours && m.Stage == stageKept && m.Cluster == r.Cluster && m.Pool == r.Pool && m.Shape == r.Shape {
			kept = append(kept, at.vmid())
		}
	}
	return kept, nil
}
