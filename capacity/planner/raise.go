package planner

import "github.com/muster-sh/muster/capacity"

// raise puts the machines that were ordered into the Simulation, so that the pods that are left are judged with them and
// the pods on them in sight.
func (p *planner) raise() {
	for i := len(p.ordered); i < len(p.plan.Creates); i++ {
		c := &p.plan.Creates[i]
		node := capacity.NodeOfClaim(c.Claim, p.v.Daemons)
		pl := &place{Place: p.sim.Arrive(&capacity.Claim{Object: c.Claim, Node: node}), create: i}
		for _, pod := range c.Pods {
			p.sim.Put(p.sim.Class(pod), pl.Place, 1)
		}
		p.ordered = append(p.ordered, pl)
	}
}
