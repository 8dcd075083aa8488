package planner

import (
	"slices"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// order writes the claims of the draft that was chosen and names the pods that each will carry. It says whether all pods
// of the draft are carried.
func (p *planner) order(d *draft) bool {
	all := true
	for _, l := range d.lots {
		for range l.machines {
			all = p.orderOne(d, l) && all
		}
	}
	return all
}

// orderOne checks each pod against the very node that will come: a rule about node names may refuse this one. What it
// does not carry stays with its batch. A slot that nobody takes is left out of this plan.
func (p *planner) orderOne(d *draft, l lot) bool {
	claim := l.vendor.claim(l.shape)
	if claim == nil {
		return true
	}
	free, admits := d.inspect(claim, l)
	all, create, pods := true, capacity.Create{Claim: claim, Cost: l.Cost}, 0
	for _, packed := range l.packed {
		pods += packed.pods
	}
	create.Pods, claim.Spec.Reserved = make([]*capacity.Pod, 0, pods), make([]v1alpha1.PodReference, 0, pods)
	for _, packed := range l.packed {
		b := d.batches[packed.batch]
		n := 0
		if admits(b.class) {
			n = free.times(b.class.need, min(packed.pods, len(b.pods)))
		}
		all = all && n == packed.pods
		free.take(b.class.need, n)
		for _, s := range b.pods[:n] {
			create.Pods = append(create.Pods, s.Pod)
			claim.Spec.Reserved = append(claim.Spec.Reserved, s.Pod.Ref())
			p.plan.Outcomes[s.Pod.UID] = capacity.Outcome{Fate: capacity.Ordered, Claim: claim.Name}
		}
		b.pods = b.pods[n:]
	}
	l.vendor.slot++
	if len(create.Pods) > 0 {
		l.vendor.took(claim)
		p.plan.Creates = append(p.plan.Creates, create)
	}
	return all
}

// inspect returns the room of the machine that will come, and whom it admits. Where nobody asks for names that is what the
// blueprint says already.
func (d *draft) inspect(claim *v1alpha1.NodeClaim, l lot) (vector, func(*class) bool) {
	named := d.daemonsByName
	for _, p := range l.packed {
		named = named || d.batches[p.batch].class.ask.ByName
	}
	if !named {
		return slices.Clone(l.free), l.admits
	}
	node := capacity.NodeOfClaim(claim, d.daemons)
	room := node.Free()
	return d.kinds.from(&room), func(c *class) bool { return capacity.Admits(c.ask, node).Fits }
}

// claim is a claim in the first free slot, nil when none is left.
func (s *vendor) claim(shape v1alpha1.Shape) *v1alpha1.NodeClaim {
	for ; s.slot < int(min(s.pool.Spec.Limits.MaxNodes, v1alpha1.MaxPoolNodes)); s.slot++ {
		if !s.names[capacity.SlotName(s.pool.Name, s.slot)] {
			return s.newClaim(shape, s.slot)
		}
	}
	return nil
}

func (s *vendor) took(claim *v1alpha1.NodeClaim) {
	s.names[claim.Name] = true
	s.budget.Spend(claim.Spec.Resources, true)
	s.live++
}

// keepMinimum buys machines without pods for pools that are below their minimum: the cheapest within the limits.
func (p *planner) keepMinimum() {
	for _, s := range p.market.vendors {
		for s.live < s.pool.Spec.Limits.MinNodes {
			if !p.buyEmpty(s) {
				p.unserved = true
				break
			}
		}
	}
}

// buyEmpty buys the cheapest machine of a pool within its limits, for nobody.
func (p *planner) buyEmpty(s *vendor) bool {
	b := s.cheapest()
	if b == nil {
		return false
	}
	claim := s.claim(b.shape)
	if claim == nil {
		return false
	}
	s.took(claim)
	p.plan.Creates = append(p.plan.Creates, capacity.Create{Claim: claim, Cost: b.Cost})
	return true
}

func (s *vendor) cheapest() *blueprint {
	var best *blueprint
	offers := s.onSale(s.budget)
	if s.sizes != nil && len(offers) > 0 {
		if shape, ok := s.sizes.Smallest(0, 0); ok {
			offers = []*blueprint{s.size(shape)}
		}
	}
	for _, b := range offers {
		if b.usable() && s.budget.Refuses(b.resources()) == "" && (best == nil || b.Cost < best.Cost) {
			best = b
		}
	}
	return best
}
