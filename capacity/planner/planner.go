package planner

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/simulation"
)

// Plan is PlanWithin without a bound.
func Plan(v *capacity.View, now time.Time) capacity.Plan { return PlanWithin(v, now, 0) }

// PlanWithin plans for the shortfalls of the view, as far as an effort goes: so many looks at a pod, or at pods that are
// alike, on one machine (0: no bound). Pods stay where room is kept for them already; the others take free room on open
// nodes, then room on machines in flight, and only for the rest machines are bought, never above a limit. Pods of higher
// priority come first, then those that the last plan did not get to, then the largest (first-fit decreasing by dominant
// share). What a plan says of the pods that it got to holds whether or not it got to the others; those are told so, and
// nothing is bought for them.
func PlanWithin(v *capacity.View, now time.Time, looks int64) capacity.Plan {
	p := newPlanner(v, now)
	p.sim.Afford(looks / 2)
	p.keep()
	p.roomy()
	p.settleAll()
	p.land()
	p.settleAll()
	p.putOff()
	p.sim.Afford(looks / 2)
	p.brake()
	p.purchase()
	p.putOff()
	p.keepMinimum()
	p.settleLast()
	p.reserve()
	p.keepSpare()
	p.explain()
	p.plan.Next = p.market.next(p.unserved)
	if p.plan.Looks = p.sim.Looks(); p.plan.Late > 0 {
		p.plan.Next = time.Nanosecond
	}
	p.sum()
	p.noteKinds()
	return p.plan
}

// planner is one run of PlanWithin.
type planner struct {
	v    *capacity.View
	sim  *simulation.Simulation
	plan capacity.Plan

	open, coming   []*place
	arrived        bool                   // the machines in flight are there
	expecting      map[types.UID]bool     // a machine in flight keeps room for the pod
	homes          map[types.UID][]home   // where room is kept for a pod
	before         *simulation.Simulation // the view as it is; see refusedBefore
	refusals       map[doubt]bool         // as before has them
	ordered        []*place               // the machines of plan.Creates, as far as they were raised
	brakes         *experience.Brakes
	batches        []*batch
	market         *market
	choosy         map[*simulation.Class]*class // the classes that insist on what their pods prefer
	classes, likes int                          // that there are, with those
	unserved       bool                         // a pod got nothing, or a pool is below its minimum
}

func newPlanner(v *capacity.View, now time.Time) *planner {
	sim := simulation.New(v)
	if anySpread(v.Shortfalls) {
		sim.Queue(priorities(v.Shortfalls))
	}
	classes, k := classify(sim, v.Shortfalls)
	p := &planner{
		v: v, sim: sim, plan: capacity.Plan{Outcomes: make(map[types.UID]capacity.Outcome, len(v.Shortfalls))},
		brakes: experience.NewBrakes(v, now), market: newMarket(v, sim, k, now),
	}
	p.choosy, p.classes = map[*simulation.Class]*class{}, len(classes)
	for _, c := range classes {
		p.likes = max(p.likes, c.like+1)
	}
	p.findOpen()
	p.batches = p.group(classes)
	return p
}

// maxReserved is the most pods that spec.reserved of a claim may list.
const maxReserved = 1000

// buyRounds bounds how often a plan is drafted: again only where a pod refuses the name of the node to come, or lets a
// preference go.
const buyRounds = 8

// letGoSingly is in how many drafts preferences are let go one by one; then all that are left.
const letGoSingly = 2

// purchaseRounds bounds how often machines are bought anew: for those who lost their place, or under limits that have room
// again.
const purchaseRounds = 4

// purchase buys machines, sees to it that the most important pods have them, and takes back those it can spare.
func (p *planner) purchase() {
	for range purchaseRounds {
		p.buy()
		ousted, shaken := p.rank(), p.shake()
		if spared := p.spare(); !p.left() || !ousted && !shaken && !spared {
			return
		}
	}
}

// buy orders what the best draft says. What is left after that may find room beside the pods that got a machine, or on
// the machines themselves.
func (p *planner) buy() {
	p.insist()
	defer p.forget()
	for round := range buyRounds {
		before := len(p.plan.Creates)
		all := p.order(p.market.bestDraft(p.batches))
		if !p.left() {
			return
		}
		relaxed := p.relax(round >= letGoSingly)
		if all && !relaxed && len(p.plan.Creates) == before {
			return
		}
		p.raise()
		p.settleAll()
		if all && !relaxed && !p.helped() {
			return
		}
	}
}

// helped says whether a pod is left that a machine could be bought for, now that others have theirs: one whose rules
// about other pods stood in the way.
func (p *planner) helped() bool {
	return slices.ContainsFunc(p.batches, func(b *batch) bool {
		return len(b.pods) > 0 && b.class.social && b.class.ask.Unjudged.Code == "" &&
			slices.ContainsFunc(p.market.vendors, func(s *vendor) bool { return p.couldBuy(s, b.class) })
	})
}

// left says whether any pod is left.
func (p *planner) left() bool {
	return slices.ContainsFunc(p.batches, func(b *batch) bool { return len(b.pods) > 0 })
}
