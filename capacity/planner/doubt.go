package planner

import (
	"time"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// doubts says whether the scheduler's own filters are known to refuse any node for a pod.
func (p *planner) doubts(s *capacity.Shortfall) bool {
	return len(s.Refused) > 0 || !s.RefusedUntil.IsZero()
}

// refuses says whether the scheduler's own filters are known to refuse an open node for a pod, for a reason that the plan
// does not judge itself.
func (p *planner) refuses(s *capacity.Shortfall, pl *place) bool {
	return s.RefusesNode(pl.Node.Name, p.v.Seen[pl.Node.Name]) && !p.judges(s, pl)
}

// contradictedFor is how long the plan trusts its own judgement against a scheduler that was woken for it and still refuses.
const contradictedFor = 30 * time.Second

// judges says whether the plan knows better than the last full call whether a pod may go to a node. A pod with rules about
// others is refused by who stands where, and that is what the plan works out: of a node that was refused it says itself
// why, or others were placed after the call, which was about a cluster that is no more. To take such a refusal for one that
// lasts would be to buy a machine for a pod that waits for its turn. A refusal that still stands when nothing has moved, a
// wake-up that was ignored, and one that was contradicted for long have some other reason.
func (p *planner) judges(s *capacity.Shortfall, pl *place) bool {
	name := pl.Node.Name
	if !p.v.Seen[name].After(s.RefusedUntil) || !s.Contradicted.IsZero() && p.market.now.Sub(s.Contradicted) >= contradictedFor {
		return false
	}
	c := p.sim.Class(s.Pod).Base()
	if c.Plain() {
		return false
	}
	return p.v.MovedSince(s) || p.refusedBefore(c, s, pl)
}

// refusedBefore says whether the pods that stood somewhere before this plan keep a pod off a node.
func (p *planner) refusedBefore(c *simulation.Class, s *capacity.Shortfall, pl *place) bool {
	key := doubt{c, pl.Node}
	refused, known := p.refusals[key]
	if !known {
		if p.before == nil {
			p.before, p.refusals = simulation.New(p.v), map[doubt]bool{}
		}
		refused = !p.before.Company(p.before.Class(s.Pod), p.before.On(pl.Node.Name)).Fits
		p.refusals[key] = refused
	}
	return refused
}

// doubt is a class and a node that was refused to a pod of it.
type doubt struct {
	class *simulation.Class
	node  *capacity.Node
}
