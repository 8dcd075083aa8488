package capacity

import (
	"slices"
	"strings"
)

// keep leaves pods where room is kept for them, as long as they still fit there.
func (p *planner) keep() {
	for _, b := range p.batches {
		b.pods = slices.DeleteFunc(b.pods, p.stays)
	}
}

func (p *planner) stays(s *Shortfall) bool {
	ask := s.Pod.Ask
	for _, h := range p.homes[s.Pod.UID] {
		switch {
		case h.claim != nil && h.takes(ask):
			h.free.Sub(ask.Requests)
			p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: Waits, Claim: h.claim.Name}
			return true
		case h.claim == nil && h.counted && !s.RefusesNode(h.node.Name, p.v.Seen[h.node.Name]):
			own := place{node: h.node, free: h.free.Plus(ask.Requests), classes: h.classes}
			if own.takes(ask) {
				p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: FitsNow, Node: h.node.Name}
				return true
			}
		}
	}
	return false
}

// giveUp leaves pods out of what is bought for which machines came up that they did not take.
func (p *planner) giveUp(b *batch) {
	b.pods = slices.DeleteFunc(b.pods, func(s *Shortfall) bool {
		vain := p.vain[s.Pod.UID] >= vainMachines
		if vain {
			p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: Unserved, Reason: Reason{Code: CodeBought}}
		}
		return vain
	})
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
		return cpu > 0 && cpu > pl.free.MilliCPU || memory > 0 && memory > pl.free.Memory || pl.free.Pods <= 0
	})
}

// settle gives the pods of a batch the room that there is, first fit: on open nodes, then on machines in flight. A pod
// that cannot be judged for a machine that is not there, or that left machines unused, takes only the former.
func (p *planner) settle(b *batch) {
	ask := b.class.ask
	if len(b.pods) == 0 || ask.Unjudged.Code == CodeSchedulingGroup {
		return
	}
	open, coming := takers(p.open, ask), []*place(nil)
	if ask.Unjudged.Code == "" {
		coming = takers(p.coming, ask)
	}
	if len(open) == 0 && len(coming) == 0 {
		return
	}
	b.pods = slices.DeleteFunc(b.pods, func(s *Shortfall) bool {
		return p.settleOpen(s, &open) || p.vain[s.Pod.UID] < vainMachines && p.settleComing(s, &coming)
	})
}

func takers(places []*place, a *Ask) []*place {
	var out []*place
	for _, pl := range places {
		if pl.takes(a) {
			out = append(out, pl)
		}
	}
	return out
}

// settleOpen looks for an open node that has room and that the scheduler's own filters are not known to refuse. Nodes
// without room for another such pod leave the list.
func (p *planner) settleOpen(s *Shortfall, places *[]*place) bool {
	ask := s.Pod.Ask
	for i, pl := range *places {
		name := pl.node.Name
		if s.RefusesNode(name, p.v.Seen[name]) {
			continue
		}
		pl.free.Sub(ask.Requests)
		p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: FitsNow, Node: name}
		if !Room(ask, pl.node.Allocatable, pl.free, pl.classes).Fits {
			*places = slices.Delete(*places, i, i+1)
		}
		return true
	}
	return false
}

func (p *planner) settleComing(s *Shortfall, places *[]*place) bool {
	ask := s.Pod.Ask
	for len(*places) > 0 {
		pl := (*places)[0]
		if !Room(ask, pl.node.Allocatable, pl.free, nil).Fits || pl.room <= len(pl.fresh) {
			*places = (*places)[1:]
			continue
		}
		pl.free.Sub(ask.Requests)
		pl.fresh = append(pl.fresh, s.Pod)
		p.plan.Outcomes[s.Pod.UID] = Outcome{Fate: Waits, Claim: pl.claim.Name}
		return true
	}
	return false
}

// reserve lists what machines in flight will carry in addition.
func (p *planner) reserve() {
	for _, pl := range p.coming {
		if len(pl.fresh) > 0 {
			slices.SortStableFunc(pl.fresh, func(a, b *Pod) int { return strings.Compare(a.Key(), b.Key()) })
			p.plan.Reserve = append(p.plan.Reserve, Reservation{Claim: pl.claim, Pods: pl.fresh})
		}
	}
}
