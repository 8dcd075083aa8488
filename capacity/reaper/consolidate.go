package reaper

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

const (
	// weighEvery is how often it is looked for nodes that one machine could replace: the planner is asked about ten times.
	weighEvery = time.Minute
	// mostMerged and mostSingles bound how many nodes one machine replaces, and how many are looked at one by one.
	mostMerged, mostSingles = 32, 5
)

// cheapable are the nodes that a cheaper machine may replace, the emptiest first.
func (d *decider) cheapable() (out []*capacity.Claim) {
	for _, c := range d.v.Claims {
		if !d.mayMerge(c) || d.replaced(c) || d.fresh.awaits(c) {
			continue
		}
		if left := d.unrest(c); left > 0 {
			d.wake(left)
			continue
		}
		out = append(out, c)
	}
	return emptiest(out, d.v)
}

// mayMerge says whether a node of a pool that asks for it has pods, all of which may move now.
func (d *decider) mayMerge(c *capacity.Claim) bool {
	p, frozen := d.pools[c.Object.Spec.Pool].object, d.pools[c.Object.Spec.Pool].frozen
	if c.Object.Status.State != v1alpha1.ClaimReady || capacity.Closed(c.Object) || p == nil || p.DeletionTimestamp != nil || frozen != "" ||
		p.Spec.ScaleDown.SavingThreshold <= 0 || p.Spec.ScaleDown.Disabled || protected(c) ||
		!d.v.Answers(p) || capacity.Unreachable(c.Node.Object) {
		return false
	}
	if d.wear[c.Object.Name].cause != "" || occupied(d.v, c.Node) != Occupied {
		return false
	}
	stay, _ := d.stays(c, p)
	rest, _ := d.rests(c)
	return stay == "" && rest == "" && len(movable(d.v, c.Node.Name)) > 0
}

// unrest is how long it takes until a node and its pods have been there for as long as under-used ones have to be; 0 when they have.
func (d *decider) unrest(c *capacity.Claim) time.Duration {
	last := d.v.Seen[c.Node.Name]
	if at := readyAt(c.Object); at.After(last) {
		last = at
	}
	for _, p := range d.v.Pods[c.Node.Name] {
		if guest(p) && p.Created.After(last) && !p.Created.After(d.now) { // the clock of the API server may be ahead
			last = p.Created
		}
	}
	return max(last.Add(underusedAfter(d.pools[c.Object.Spec.Pool].object)).Sub(d.now), 0)
}

// finish lets nodes go whose replacement is ready, all of a group at once. It says whether any goes.
func (d *decider) finish(groups []group) bool {
	released := false
	for _, g := range groups {
		why, detail := Replacing, "machine "+g.by.Object.Name+" is on its way"
		if !g.by.InFlight() {
			why, detail = d.finishOne(g)
		}
		for _, c := range g.old {
			d.spare(c, why, detail)
		}
		released = released || why == Consolidated
	}
	return released
}

func (d *decider) finishOne(g group) (Reason, string) {
	if i := slices.IndexFunc(g.old, func(c *capacity.Claim) bool { return !d.mayMerge(c) }); i >= 0 {
		return Occupied, "node " + g.old[i].Node.Name + " cannot be emptied now"
	}
	t := newTrial(d)
	if t.grows != "" {
		return Growing, t.grows
	}
	for _, c := range g.old {
		if why := t.budgets.refuse(movable(d.v, c.Node.Name)); why != "" {
			return PodBudget, why
		}
	}
	switch a := t.plan(t.without(g.old...), g.old...); {
	case a.why != "":
		return a.why, a.detail
	case len(a.create) > 0:
		return BoughtBack, "machine " + a.create[0].Name + " would be bought"
	}
	for _, c := range g.old {
		d.pools[c.Object.Spec.Pool].out-- // these themselves
	}
	why, detail := t.chooseAll(g.old)
	if why != "" {
		for _, c := range g.old {
			d.pools[c.Object.Spec.Pool].out++
		}
		return why, detail
	}
	return Consolidated, t.releaseAll("machine " + g.by.Object.Name + " replaces it")
}

// chooseAll lets all of these go, or none where a minimum or a budget is in the way.
func (t *trial) chooseAll(claims []*capacity.Claim) (Reason, string) {
	for i, c := range claims {
		p := t.pools[c.Object.Spec.Pool]
		if why, detail := p.refuses(Consolidated, t.now); why != "" {
			for _, done := range claims[:i] {
				t.pools[done.Object.Spec.Pool].regain()
			}
			t.chosen = nil
			return why, detail
		}
		t.choose(c)
	}
	return "", ""
}

// releaseAll releases what was chosen and returns the message.
func (t *trial) releaseAll(message string) string {
	for _, g := range t.chosen {
		t.Release = append(t.Release, t.releaseOf(g, wear{Consolidated, message}))
	}
	return message
}

// consolidate looks for nodes whose pods would run for less on one machine, or on those that stay: as many of the
// emptiest as possible, else one of the dearest. It buys the machine, if there is one to buy.
func (d *decider) consolidate(cheap []*capacity.Claim) {
	if left := d.memory.Weighed.Add(weighEvery).Sub(d.now); len(cheap) == 0 || left > 0 {
		if len(cheap) > 0 {
			d.wake(left)
		}
		return
	}
	d.Weighed = true
	d.wake(weighEvery)
	t := newTrial(d)
	if t.grows != "" {
		return
	}
	cheap = t.affordable(cheap)
	for low, high := 2, len(cheap); low <= high; {
		if n := (low + high + 1) / 2; t.worthwhile(cheap[:n]) {
			low = n + 1
		} else {
			high = n - 1
		}
	}
	if t.best != nil && len(t.best.create) > 0 && len(t.best.old) > 1 {
		t.worthwhile(t.best.old[:len(t.best.old)-1]) // the one more that goes may be all that the machine is bought for
	}
	if t.best == nil {
		for _, c := range dearest(cheap, d) {
			if t.worthwhile([]*capacity.Claim{c}) {
				break
			}
		}
	}
	t.carryOut()
}

// affordable are those that no budget keeps, as many of each pool as its budget allows.
func (t *trial) affordable(cheap []*capacity.Claim) (out []*capacity.Claim) {
	for _, c := range cheap {
		p := t.pools[c.Object.Spec.Pool]
		_, priced := t.price(c)
		why, _ := p.overBudget(Consolidated, t.now)
		if !priced || why != "" || len(out) == mostMerged || t.budgets.refuse(movable(t.v, c.Node.Name)) != "" {
			continue
		}
		p.out++
		out = append(out, c)
	}
	for _, c := range out {
		t.pools[c.Object.Spec.Pool].out--
	}
	return out
}

// price is what a claim's machine costs for one hour, as its pool prices it now; false when it sells no such machine any more.
func (d *decider) price(c *capacity.Claim) (float64, bool) {
	template := &d.pools[c.Object.Spec.Pool].object.Spec.Template
	if template.Range != nil {
		return policy.Cost(v1alpha1.Shape{Resources: c.Object.Spec.Resources}), true
	}
	i := slices.IndexFunc(template.Shapes, func(s v1alpha1.Shape) bool { return s.Name == c.Object.Spec.Shape })
	if i < 0 {
		return 0, false
	}
	return policy.Cost(template.Shapes[i]), true
}

func dearest(claims []*capacity.Claim, d *decider) []*capacity.Claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(a, b *capacity.Claim) int {
		x, _ := d.price(a)
		y, _ := d.price(b)
		return cmp.Or(cmp.Compare(y, x), strings.Compare(a.Object.Name, b.Object.Name))
	})
	return sorted[:min(len(sorted), mostSingles)]
}
