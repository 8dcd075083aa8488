package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// roomy leaves nodes out that have no room for the smallest pod there is.
func (p *planner) roomy() {
	if len(p.batches) == 0 {
		return
	}
	least := p.batches[0].class.ask.Requests
	cpu, memory := least.MilliCPU, least.Memory
	for _, b := range p.batches {
		cpu, memory = min(cpu, b.class.ask.Requests.MilliCPU), min(memory, b.class.ask.Requests.Memory)
	}
	p.open = slices.DeleteFunc(p.open, func(pl *place) bool {
		return cpu > 0 && cpu > pl.Free.MilliCPU || memory > 0 && memory > pl.Free.Memory || pl.Free.Pods <= 0
	})
}

// settleAll gives the pods that are left the room that there is, again as long as one that comes to stand somewhere may let
// another in.
func (p *planner) settleAll() {
	for first, again := true, true; again; first = false {
		again = false
		for _, b := range p.batches {
			n := len(b.pods)
			if n > 0 && (first || b.class.social) && !p.sim.Spent() {
				p.settle(b)
				b.sought = b.sought || !p.sim.Spent()
			}
			again = again || b.class.social && len(b.pods) < n
		}
	}
}

// settleLast looks once more for room for the pods that are left, on machines that a pool buys for its minimum and beside pods
// that came to stand elsewhere when others made way.
func (p *planner) settleLast() {
	if p.left() {
		p.raise()
		p.settleAll()
	}
}

// settle gives the pods of a batch the room that there is, first fit. Before the machines in flight have arrived, that is
// what kube-scheduler could give them now; afterwards it is room on open nodes that others let them have once they are
// placed, then on machines in flight, then on those that are bought in this plan. On each of these a pod first looks for
// a place as it prefers it, and lets its preferences go one by one: it takes any place that is there before a machine is
// bought. A pod that cannot be judged for a machine that is not there takes only open nodes, as do pods that such
// machines did not take.
func (p *planner) settle(b *batch) {
	c, ask := cmp.Or(b.plain, b.class), b.class.ask
	if ask.Unjudged.Code == capacity.CodeSchedulingGroup || len(p.open)+len(p.coming)+len(p.ordered) == 0 {
		return
	}
	sides := []*side{p.side(c, p.open, p.settleOpen)}
	if ask.Unjudged.Code == "" {
		sides = append(sides, p.side(c, p.trusted(p.coming, ask), p.settleComing),
			p.side(c, p.trusted(p.ordered, ask), p.settleOrdered))
	}
	b.pods = slices.DeleteFunc(b.pods, func(s *capacity.Shortfall) bool {
		if !p.arrived && p.expecting[s.Pod.UID] || p.sim.Spent() {
			return false
		}
		return slices.ContainsFunc(sides, func(on *side) bool { return on.settle(p, c, s) })
	})
}

// trusted are the machines that can be expected to take such a pod.
func (p *planner) trusted(places []*place, a *capacity.Ask) []*place {
	if p.brakes.Idle() {
		return places
	}
	return slices.DeleteFunc(slices.Clone(places), func(pl *place) bool { return !p.brakes.Trusts(pl.Claim, a) })
}

// side is the places of one sort that have room for the pods of a class.
type side struct {
	rungs []*rung
	place func(*class, *rung, *capacity.Shortfall) bool
	// none says that a pod which is known to be refused by no place found none: then its like find none, either.
	none bool
}

// rung is the places that grant the wishes of a class down to one of them.
type rung struct {
	*takers
	as     *simulation.Class
	social bool
}

func (p *planner) side(c *class, places []*place, put func(*class, *rung, *capacity.Shortfall) bool) *side {
	out := &side{place: put}
	if len(places) == 0 {
		return out
	}
	any := p.takers(places, c.sim)
	if len(any.places) == 0 {
		return out
	}
	for as := p.sim.Strictest(c.sim); as != nil; as = p.sim.Relaxed(as) {
		t := any
		if as != c.sim {
			t = p.takers(any.places, as)
		}
		if len(t.places) > 0 {
			out.rungs = append(out.rungs, &rung{takers: t, as: as, social: c.social || as.InsistsOnOthers()})
		}
	}
	return out
}

func (on *side) settle(p *planner, c *class, s *capacity.Shortfall) bool {
	if on.none || len(on.rungs) == 0 {
		return false
	}
	for _, r := range on.rungs {
		if on.place(c, r, s) {
			return true
		}
	}
	on.none = !p.doubts(s)
	return false
}

// takers are places that have room for a pod of a class, in order. The one that took the last is asked first.
type takers struct {
	places []*place
	at     int
}

func (p *planner) takers(places []*place, c *simulation.Class) *takers {
	t := &takers{}
	for _, pl := range places {
		if p.sim.Room(c, pl.Place).Fits && p.sim.Admits(c, pl.Place).Fits {
			t.places = append(t.places, pl)
		}
	}
	return t
}

// find is the first place, from the last taker on, that a pod may go to. Places without room for another such
// pod leave the list; those that other pods keep it off stay, since they may let the next one in.
func (p *planner) find(r *rung, may func(*place) bool) *place {
	for tried := 0; tried < len(r.places); {
		r.at %= len(r.places)
		pl := r.places[r.at]
		switch {
		case !p.sim.Room(r.as, pl.Place).Fits:
			r.places = slices.Delete(r.places, r.at, r.at+1)
		case !may(pl) || r.social && !p.sim.Company(r.as, pl.Place).Fits:
			r.at++
			tried++
		default:
			return pl
		}
	}
	return nil
}

// give puts a pod on the place that find finds.
func (p *planner) give(r *rung, may func(*place) bool) *place {
	pl := p.find(r, may)
	if pl != nil {
		p.sim.Put(r.as, pl.Place, 1)
	}
	return pl
}

// settleOpen looks for an open node that has room and that the scheduler's own filters are not known to refuse.
func (p *planner) settleOpen(c *class, r *rung, s *capacity.Shortfall) bool {
	if p.doubts(s) || !r.social {
		r.at = 0
	}
	pl := p.find(r, func(pl *place) bool { return !p.refuses(s, pl) })
	if pl == nil {
		return false
	}
	as := r.as
	if !p.arrived {
		as = p.sim.Settled(s.Pod)
	}
	p.sim.Put(as, pl.Place, 1)
	fate := capacity.FitsNow
	if p.arrived && c.social {
		fate = capacity.Waits
	}
	p.plan.Outcomes[s.Pod.UID] = capacity.Outcome{Fate: fate, Node: pl.Node.Name}
	p.plan.Turns = append(p.plan.Turns, s.Pod.UID)
	return true
}

func (p *planner) settleComing(c *class, r *rung, s *capacity.Shortfall) bool {
	pl := p.give(r, func(pl *place) bool { return len(pl.fresh) < pl.room })
	if pl == nil {
		return false
	}
	if !p.keeps(pl, s.Pod.UID) {
		pl.fresh = append(pl.fresh, s.Pod)
	}
	p.plan.Outcomes[s.Pod.UID] = capacity.Outcome{Fate: capacity.Waits, Claim: pl.Claim.Name}
	return true
}

// settleOrdered looks for room on a machine that this plan buys.
func (p *planner) settleOrdered(c *class, r *rung, s *capacity.Shortfall) bool {
	pl := p.give(r, func(pl *place) bool { return len(pl.Claim.Spec.Reserved) < maxReserved })
	if pl == nil {
		return false
	}
	p.plan.Creates[pl.create].Carry(s.Pod)
	p.plan.Outcomes[s.Pod.UID] = capacity.Outcome{Fate: capacity.Ordered, Claim: pl.Claim.Name}
	return true
}

// reserve lists what machines in flight will carry in addition.
func (p *planner) reserve() {
	for _, pl := range p.coming {
		if len(pl.fresh) > 0 {
			slices.SortStableFunc(pl.fresh, func(a, b *capacity.Pod) int { return strings.Compare(a.Key(), b.Key()) })
			p.plan.Reserve = append(p.plan.Reserve, capacity.Reservation{Claim: pl.Claim, Pods: pl.fresh})
		}
	}
}
