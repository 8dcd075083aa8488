package planner

import (
	"slices"

	"github.com/muster-sh/muster/capacity"
)

// brake bars pools from buying for pods whose machines were in vain. Where nothing else is left but a pool that may try
// one machine, one pod is bought for, and the others wait for what becomes of it.
func (p *planner) brake() {
	if p.brakes.Idle() {
		return
	}
	for _, s := range p.market.vendors {
		s.barred = p.brakes.Barred(s.pool.Name)
	}
	seen := map[string]bool{}
	for _, b := range p.batches {
		if ask := b.class.ask; !seen[ask.Signature] && len(b.pods) > 0 {
			seen[ask.Signature] = true
			p.brakeKind(b)
		}
	}
}

// brakeKind looks at one kind of pods; the batch is the first of its batches that is left.
func (p *planner) brakeKind(first *batch) {
	ask := first.class.ask
	free, trial := false, []string(nil)
	for _, s := range p.market.vendors {
		machines, limited := p.brakes.Allows(s.pool.Name, ask)
		switch {
		case limited && machines == 0:
			p.brakes.Bar(s.pool.Name, ask)
		case !p.couldBuy(s, first.class):
		case limited:
			trial = append(trial, s.pool.Name)
		default:
			free = true
		}
	}
	if len(trial) == 0 {
		return
	}
	if free {
		for _, pool := range trial {
			p.brakes.Bar(pool, ask)
		}
		return
	}
	p.holdBack(first, trial[0])
}

// couldBuy says whether a pool has a machine for a class and may grow.
func (p *planner) couldBuy(s *vendor, c *class) bool {
	return s.stop.Code == "" && s.budget.Refuses(nil) == "" &&
		slices.ContainsFunc(s.models(), func(b *blueprint) bool { return b.takes(c) })
}

// holdBack leaves the first pod of a kind for a machine on trial.
func (p *planner) holdBack(first *batch, pool string) {
	told := capacity.Outcome{Fate: capacity.Unserved, Reason: p.brakes.Why(pool, first.class.ask)}
	told.Pools = []capacity.PoolReason{{Pool: pool, Reason: told.Reason}}
	for _, b := range p.batches {
		if b.class.ask.Signature != first.class.ask.Signature {
			continue
		}
		kept := 0
		if b == first {
			kept = 1
		}
		for _, s := range b.pods[min(kept, len(b.pods)):] {
			p.plan.Outcomes[s.Pod.UID] = told
			p.unserved = true
		}
		b.pods = b.pods[:min(kept, len(b.pods))]
	}
}

// noteKinds writes into the claims of a plan what kinds of pods they are for, and has the plan made again when a probe
// is due.
func (p *planner) noteKinds() {
	for i := range p.plan.Creates {
		c := &p.plan.Creates[i]
		c.Claim.Spec.OrderedFor = capacity.KindsOf(c.Pods)
	}
	if left := p.brakes.Wait(); left > 0 && (p.plan.Next == 0 || left < p.plan.Next) {
		p.plan.Next = left
	}
}
