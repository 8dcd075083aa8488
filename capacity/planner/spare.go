package planner

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// A plan looks for machines that it can spare with an effort that is a small part of what it took so far.
const (
	spareLooks = 20_000
	sparePart  = 16
)

// spare takes machines off the plan whose pods all fit on the others that it buys, with their preferences or without,
// those first that cost most. A preference decides which machine is bought, never how many: kube-scheduler would use what
// is there, and leave one of the machines empty. It says whether there was any.
func (p *planner) spare() bool {
	before := len(p.plan.Creates)
	room := p.spareRoom()
	most := p.sim.Looks() + p.sim.Looks()/sparePart + spareLooks
	var classes map[*simulation.Class]*class // found when the first machine may go: a plan may have very many
	for _, pl := range p.byCost() {
		load := p.loadOf(pl)
		own := p.market.kinds.from(&pl.Free)
		if room.take(own, 1); room.holds(load) && p.sim.Looks() < most && !p.sim.Spent() {
			if classes == nil {
				classes = p.classesOf()
			}
			if p.vacate(pl, classes) {
				room.take(load, 1)
				continue
			}
		}
		room.put(own, 1)
	}
	return len(p.plan.Creates) < before
}

// byCost are the machines that the plan buys, the dearest first, of those that cost the same the emptiest.
func (p *planner) byCost() []*place {
	out := slices.Clone(p.ordered)
	slices.SortStableFunc(out, func(a, b *place) int {
		x, y := &p.plan.Creates[a.create], &p.plan.Creates[b.create]
		return cmp.Or(cmp.Compare(y.Cost, x.Cost), cmp.Compare(len(x.Pods), len(y.Pods)))
	})
	return out
}

// spareRoom is what is free on all machines of the plan together.
func (p *planner) spareRoom() vector {
	room := make(vector, len(p.market.kinds))
	for _, pl := range p.ordered {
		room.put(p.market.kinds.from(&pl.Free), 1)
	}
	return room
}

// loadOf is what the pods on a machine of the plan take.
func (p *planner) loadOf(pl *place) vector {
	whole := pl.Node.Unreserved()
	load := p.market.kinds.from(&whole)
	load.take(p.market.kinds.from(&pl.Free), 1)
	return load
}

// classesOf are the classes of the plan by those of the Simulation.
func (p *planner) classesOf() map[*simulation.Class]*class {
	out := make(map[*simulation.Class]*class, len(p.batches))
	for _, b := range p.batches {
		c := cmp.Or(b.plain, b.class)
		out[c.sim] = c
	}
	return out
}

// vacate moves all pods of a machine to others of the plan and drops it; where one cannot move, nothing changes. A machine
// whose pods were driven out has none.
func (p *planner) vacate(pl *place, classes map[*simulation.Class]*class) bool {
	seller, create := p.sellerOf(pl), p.plan.Creates[pl.create]
	if seller.live <= seller.pool.Spec.Limits.MinNodes {
		return false
	}
	before := p.sim.Mark()
	for _, pod := range create.Pods {
		p.sim.Take(p.sim.Class(pod), pl.Place, 1)
	}
	p.sim.Close(pl.Place)
	targets, ok := p.rehouse(pl, create.Pods, classes)
	if !ok {
		p.sim.Rewind(before)
		return false
	}
	for i, to := range targets {
		p.plan.Creates[to.create].Carry(create.Pods[i])
		p.plan.Outcomes[create.Pods[i].UID] = capacity.Outcome{Fate: capacity.Ordered, Claim: to.Claim.Name}
	}
	p.cancel(pl, seller)
	return true
}

// rehouse puts the pods of a machine on others of the plan, where all pods that are there may stay.
func (p *planner) rehouse(from *place, pods []*capacity.Pod, classes map[*simulation.Class]*class) (targets []*place, ok bool) {
	others := slices.DeleteFunc(slices.Clone(p.ordered), func(pl *place) bool { return pl == from })
	sides, coming := map[*class]*side{}, map[*place]int{}
	may := func(pl *place) bool { return len(pl.Claim.Spec.Reserved)+coming[pl] < maxReserved }
	for _, pod := range pods {
		c := classes[p.sim.Class(pod)]
		on := sides[c]
		if on == nil {
			on = p.side(c, p.trusted(others, c.ask), nil)
			sides[c] = on
		}
		var to *place
		for i := 0; to == nil && i < len(on.rungs); i++ {
			to = p.give(on.rungs[i], may)
		}
		if to == nil {
			return nil, false
		}
		coming[to]++
		targets = append(targets, to)
	}
	for i, to := range targets {
		if !p.sim.Still(p.sim.Class(pods[i]), to.Place) {
			return nil, false
		}
	}
	return targets, p.sound(pods)
}

// sellerOf is the pool that a machine of the plan is bought from.
func (p *planner) sellerOf(pl *place) *vendor {
	at := slices.IndexFunc(p.market.vendors, func(s *vendor) bool { return s.pool.Name == pl.Claim.Spec.Pool })
	return p.market.vendors[at]
}

// cancel takes a machine off the plan; its slot and its part of the limits are free again.
func (p *planner) cancel(pl *place, seller *vendor) {
	delete(seller.names, pl.Claim.Name)
	seller.slot, seller.live = 0, seller.live-1
	seller.budget.Refund(pl.Claim.Spec.Resources)
	at := pl.create
	p.plan.Creates = slices.Delete(p.plan.Creates, at, at+1)
	p.ordered = slices.Delete(p.ordered, at, at+1)
	for i := at; i < len(p.ordered); i++ {
		p.ordered[i].create = i
	}
}
