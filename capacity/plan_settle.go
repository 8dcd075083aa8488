package capacity

import (
	"slices"
	"strings"
)

// keep leaves pods where room is kept for them, as long as they still fit there.
func (p *planner) keep() {
	for _, b := range p.batches {
		b.pods = slices.DeleteFunc(b.pods, func(s *Shortfall) bool { return p.stays(b.class.sim, s) })
	}
}

func (p *planner) stays(c *Class, s *Shortfall) bool {
	for _, h := range p.homes[s.Pod.UID] {
		switch {
		case h.Claim != nil && p.sim.Judge(c, h.Place).Fits:
			p.sim.Put(c, h.Place, 1)
			p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: Waits, Claim: h.Claim.Name}
			return true
		case h.Claim == nil && h.counted && !s.RefusesNode(h.Node.Name, p.v.Seen[h.Node.Name]):
			h.Free.Add(c.Ask.Requests) // its own
			if p.sim.Judge(c, h.Place).Fits {
				p.sim.Put(c, h.Place, 1)
				p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: FitsNow, Node: h.Node.Name}
				return true
			}
			h.Free.Sub(c.Ask.Requests)
		}
	}
	return false
}

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

// settle gives the pods of a batch the room that there is, first fit: on open nodes, then on machines in flight. A pod
// that cannot be judged for a machine that is not there takes only the former, as do pods that such machines did not take.
func (p *planner) settle(b *batch) {
	ask := b.class.ask
	if len(b.pods) == 0 || ask.Unjudged.Code == CodeSchedulingGroup {
		return
	}
	open, coming := p.takers(p.open, b.class.sim), &takers{}
	if ask.Unjudged.Code == "" {
		coming = p.takers(p.coming, b.class.sim)
		coming.places = slices.DeleteFunc(coming.places, func(pl *place) bool { return !p.brakes.trusts(pl.Claim, ask) })
	}
	if len(open.places) == 0 && len(coming.places) == 0 {
		return
	}
	b.pods = slices.DeleteFunc(b.pods, func(s *Shortfall) bool {
		return p.settleOpen(b.class, s, open) || p.settleComing(b.class, s, coming)
	})
}

// takers are places that have room for a pod of a class, in order. The one that took the last is asked first.
type takers struct {
	places []*place
	at     int
}

func (p *planner) takers(places []*place, c *Class) *takers {
	t := &takers{}
	for _, pl := range places {
		if p.sim.Room(c, pl.Place).Fits && p.sim.Admits(c, pl.Place).Fits {
			t.places = append(t.places, pl)
		}
	}
	return t
}

// give puts a pod on the first place, from the last taker on, that it may go to. Places without room for another such
// pod leave the list; those that other pods keep it off stay, since they may let the next one in.
func (p *planner) give(c *class, t *takers, may func(*place) bool) *place {
	for tried := 0; tried < len(t.places); {
		t.at %= len(t.places)
		pl := t.places[t.at]
		switch {
		case !p.sim.Room(c.sim, pl.Place).Fits:
			t.places = slices.Delete(t.places, t.at, t.at+1)
		case !may(pl) || c.social && !p.sim.Company(c.sim, pl.Place).Fits:
			t.at++
			tried++
		default:
			p.sim.Put(c.sim, pl.Place, 1)
			return pl
		}
	}
	return nil
}

// settleOpen looks for an open node that has room and that the scheduler's own filters are not known to refuse.
func (p *planner) settleOpen(c *class, s *Shortfall, t *takers) bool {
	if len(s.Refused) > 0 || !c.social {
		t.at = 0
	}
	pl := p.give(c, t, func(pl *place) bool { return !s.RefusesNode(pl.Node.Name, p.v.Seen[pl.Node.Name]) })
	if pl == nil {
		return false
	}
	p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: FitsNow, Node: pl.Node.Name}
	return true
}

func (p *planner) settleComing(c *class, s *Shortfall, t *takers) bool {
	pl := p.give(c, t, func(pl *place) bool { return len(pl.fresh) < pl.room })
	if pl == nil {
		return false
	}
	pl.fresh = append(pl.fresh, s.Pod)
	p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: Waits, Claim: pl.Claim.Name}
	return true
}

// reserve lists what machines in flight will carry in addition.
func (p *planner) reserve() {
	for _, pl := range p.coming {
		if len(pl.fresh) > 0 {
			slices.SortStableFunc(pl.fresh, func(a, b *Pod) int { return strings.Compare(a.Key(), b.Key()) })
			p.plan.Reserve = append(p.plan.Reserve, Reservation{Claim: pl.Claim, Pods: pl.fresh})
		}
	}
}
