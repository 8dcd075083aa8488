package planner

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// stay is a pod that is left where room is kept for it.
type stay struct {
	batch    *batch
	short    *capacity.Shortfall
	home     home
	withdrew bool
}

// keep leaves pods where room is kept for them, as long as they still fit there.
func (p *planner) keep() {
	p.leave(p.staysInOrder())
}

// staysInOrder finds out which pods may stay on open nodes, one after the other as the scheduler places them, again as
// long as one lets another in.
func (p *planner) staysInOrder() []*stay {
	var stays []*stay
	settled := map[types.UID]bool{}
	for found := true; found; {
		found = false
		for _, b := range p.batches {
			for _, s := range b.pods {
				if settled[s.Pod.UID] {
					continue
				}
				if h, ok := p.homeOf(b.class.sim, s, p.sim.Company); ok {
					stays = append(stays, &stay{batch: b, short: s, home: h})
					settled[s.Pod.UID], found = true, found || b.class.social
				}
			}
		}
	}
	return stays
}

// land has the machines in flight arrive, and leaves pods on them. A pod that does not fit there any more is given what
// there is now, before the machines are there.
func (p *planner) land() {
	before := p.sim.Mark()
	p.arrive()
	stays := p.stays()
	if p.homeless(stays) {
		p.sim.Rewind(before)
		p.arrived, p.coming = false, nil
		p.settleAll()
		p.arrive()
		stays = p.stays()
	}
	p.leave(stays)
}

// stays finds out which pods may stay on machines in flight. They came to their places together, so they are judged together: all that find
// their room are put there, and then those go, the least important first, whom a rule keeps off their place among all
// others.
func (p *planner) stays() []*stay {
	var stays []*stay
	for _, b := range p.batches {
		for _, s := range b.pods {
			if h, ok := p.homeOf(b.class.sim, s, anyCompany); ok {
				stays = append(stays, &stay{batch: b, short: s, home: h})
			}
		}
	}
	p.withdraw(stays)
	return slices.DeleteFunc(stays, func(st *stay) bool { return st.withdrew })
}

// leave takes pods that stay out of their batches.
func (p *planner) leave(stays []*stay) {
	if len(stays) == 0 {
		return
	}
	for _, st := range stays {
		p.plan.Outcomes[st.short.Pod.UID] = st.home.outcome()
		p.plan.Turns = append(p.plan.Turns, st.short.Pod.UID)
	}
	for _, b := range p.batches {
		b.pods = slices.DeleteFunc(b.pods, func(s *capacity.Shortfall) bool {
			_, stays := p.plan.Outcomes[s.Pod.UID]
			return stays
		})
	}
}

// homeless says whether there are pods that wait for a machine in flight and do not fit there any more. From now on they
// are counted as waiting for none.
func (p *planner) homeless(stays []*stay) bool {
	staying := make(map[types.UID]bool, len(stays))
	for _, st := range stays {
		staying[st.short.Pod.UID] = true
	}
	found := false
	for _, b := range p.batches {
		for _, s := range b.pods {
			if uid := s.Pod.UID; p.expecting[uid] && !staying[uid] {
				delete(p.expecting, uid)
				found = true
			}
		}
	}
	return found
}

func (h home) outcome() capacity.Outcome {
	if h.Claim != nil {
		return capacity.Outcome{Fate: capacity.Waits, Claim: h.Claim.Name}
	}
	return capacity.Outcome{Fate: capacity.FitsNow, Node: h.Node.Name}
}

func anyCompany(*simulation.Class, *simulation.Place) capacity.Verdict { return capacity.Fitting }

// homeOf puts a pod on the first place that keeps room for it and has it, and where the company suits it.
func (p *planner) homeOf(c *simulation.Class, s *capacity.Shortfall, company func(*simulation.Class, *simulation.Place) capacity.Verdict) (home, bool) {
	for _, h := range p.homes[s.Pod.UID] {
		if h.Claim == nil && p.refuses(s, h.place) || !p.sim.Admits(c, h.Place).Fits {
			continue
		}
		h.giveBack(c)
		if p.sim.Room(c, h.Place).Fits && company(c, h.Place).Fits {
			if p.arrived {
				p.sim.Put(c, h.Place, 1)
			} else {
				p.sim.Put(p.sim.Settled(s.Pod), h.Place, 1)
			}
			return h, true
		}
		h.setAside(c)
	}
	return home{}, false
}

// giveBack gives a pod the room on an open node that is set aside for the pod itself.
func (h home) giveBack(c *simulation.Class) {
	if h.counted {
		h.Free.Add(c.Ask.Requests)
	}
}

func (h home) setAside(c *simulation.Class) {
	if h.counted {
		h.Free.Sub(c.Ask.Requests)
	}
}

// withdraw takes away those who may not be where they were put, until all others may.
func (p *planner) withdraw(stays []*stay) {
	for found := true; found; {
		found = false
		for i := len(stays) - 1; i >= 0; i-- {
			st := stays[i]
			if c := st.batch.class; !c.social || st.withdrew || p.sim.Still(c.sim, st.home.Place) {
				continue
			}
			st.withdrew, found = true, true
			p.sim.Take(st.batch.class.sim, st.home.Place, 1)
			st.home.setAside(st.batch.class.sim)
		}
	}
}
