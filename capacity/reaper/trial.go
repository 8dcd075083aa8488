package reaper

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
)

// trial asks the planner what it would do if nodes went.
type trial struct {
	*decider
	base    *capacity.View // in which the pods of nodes that are being drained wait already
	grows   string         // machines are to be bought anyway
	budgets podBudgets
	chosen  []trip
	best    *bargain
}

// newTrial asks first what the planner does if nothing goes.
func newTrial(d *decider) *trial {
	t := &trial{decider: d, base: settledView(d), budgets: newPodBudgets(d.v.Budgets)}
	if plan := planner.PlanWithin(t.base, d.now, effort); plan.Late > 0 || len(plan.Creates) > 0 {
		t.grows = "machines are to be bought for pods that wait"
	}
	return t
}

// settledView has everything that was decided before carried out: what is released now is closed, and the pods of nodes that are being
// drained wait for a node.
func settledView(d *decider) *capacity.View {
	var closed []*v1alpha1.NodeClaim
	moved := map[string][]*capacity.Pod{}
	for _, r := range d.Release {
		closed = append(closed, r.Claim)
	}
	for _, c := range d.v.Claims {
		if r := c.Object.Spec.Release; r != nil && r.Drain != nil {
			if pods := movable(d.v, c.Node.Name); len(pods) > 0 {
				closed, moved[c.Node.Name] = append(closed, c.Object), pods
			}
		}
	}
	return d.v.Without(closed, moved)
}

// without is the view after all that were chosen went, and these.
func (t *trial) without(claims ...*capacity.Claim) *capacity.View {
	var closed []*v1alpha1.NodeClaim
	moved := map[string][]*capacity.Pod{}
	add := func(c *capacity.Claim) {
		closed, moved[c.Node.Name] = append(closed, c.Object), movable(t.v, c.Node.Name)
	}
	for _, g := range t.chosen {
		add(g.claim)
	}
	for _, c := range claims {
		add(c)
	}
	return t.base.Without(closed, moved)
}

// answer is what it takes for nodes to go: nothing, machines that are bought first, or it is not possible.
type answer struct {
	why    Reason
	detail string
	create []*v1alpha1.NodeClaim
	cost   float64                    // of what is to be bought, for one hour
	lands  map[string][]*capacity.Pod // by node that is there
}

// plan asks what becomes of the pods of these claims and of those chosen before.
func (t *trial) plan(v *capacity.View, claims ...*capacity.Claim) answer {
	plan := planner.PlanWithin(v, t.now, effort)
	if plan.Late > 0 {
		return answer{why: NotReached}
	}
	a := answer{cost: plan.Cost, lands: map[string][]*capacity.Pod{}}
	all := slices.Clone(claims)
	for _, g := range t.chosen {
		all = append(all, g.claim)
	}
	ours := map[types.UID]bool{}
	for _, c := range all {
		for _, p := range movable(t.v, c.Node.Name) {
			ours[p.UID] = true
			o := plan.Outcomes[p.UID]
			if o.Node == "" && o.Fate != capacity.Ordered {
				return answer{why: NoRoom, detail: "pod " + p.Key() + ": " + o.String()}
			}
			a.lands[o.Node] = append(a.lands[o.Node], p)
		}
	}
	for i := range plan.Creates {
		if slices.ContainsFunc(plan.Creates[i].Pods, func(p *capacity.Pod) bool { return !ours[p.UID] }) {
			return answer{why: NoRoom, detail: "pods that wait would need a machine"}
		}
		a.create = append(a.create, plan.Creates[i].Claim)
	}
	return a
}

// choose lets a node go in this decision.
func (t *trial) choose(c *capacity.Claim) {
	t.budgets.spend(movable(t.v, c.Node.Name))
	t.pools[c.Object.Spec.Pool].lose()
	t.chosen = append(t.chosen, trip{claim: c, pods: guests(t.v, c.Node.Name)})
}

// releaseOf is the release of a node; one without pods is not drained.
func (t *trial) releaseOf(g trip, w wear) Release {
	r := Release{Claim: g.claim.Object, Reason: w.cause, Message: w.detail, Pods: g.pods}
	if len(g.pods) > 0 {
		r.Drain = drainOf(t.pools[g.claim.Object.Spec.Pool].object)
	}
	return r
}
