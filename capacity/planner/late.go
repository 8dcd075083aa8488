package planner

import "github.com/muster-sh/muster/capacity"

// putOff leaves the pods that are left for the next plan, once the effort is spent: nobody knows whether there is room for
// them, so nothing is bought.
func (p *planner) putOff() {
	if !p.sim.Spent() {
		return
	}
	for _, b := range p.batches {
		for _, s := range b.pods {
			p.plan.Outcomes[s.Pod.UID] = capacity.Outcome{Fate: capacity.Unserved, Reason: capacity.Reason{Code: capacity.CodeNotReached}, Sought: b.sought}
			p.plan.Late++
		}
		b.pods = nil
	}
}
