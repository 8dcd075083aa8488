package planner

import (
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// keepSpare buys machines without pods for pools that keep some ready: after everything that pods need, and not at all while
// one of them gets nothing.
func (p *planner) keepSpare() {
	if p.left() {
		return
	}
	wanted := p.wanted()
	for _, s := range p.market.vendors {
		vacant, used := p.census(s, wanted)
		for want := policy.Spare(s.pool, used); vacant < want; vacant++ {
			if !p.buyEmpty(s) {
				p.unserved = true // tried again when the pool's wait is over
				break
			}
		}
	}
}

// wanted names the nodes and claims that this plan sends pods to.
func (p *planner) wanted() map[string]bool {
	wanted := make(map[string]bool, len(p.plan.Outcomes))
	for _, o := range p.plan.Outcomes {
		wanted[o.Node], wanted[o.Claim] = true, true
	}
	return wanted
}

// census counts a pool's machines without pods and those with some, as they will be when this plan is carried out.
func (p *planner) census(s *vendor, wanted map[string]bool) (vacant, used int) {
	count := func(empty bool) {
		if empty {
			vacant++
		} else {
			used++
		}
	}
	for _, c := range p.v.Claims {
		if c.Object.Spec.Pool == s.pool.Name && !capacity.Closed(c.Object) {
			count(!wanted[c.Object.Name] && !wanted[c.Node.Name] && p.v.Vacant(c))
		}
	}
	for i := range p.plan.Creates {
		if c := &p.plan.Creates[i]; c.Claim.Spec.Pool == s.pool.Name {
			count(len(c.Pods) == 0)
		}
	}
	return vacant, used
}
