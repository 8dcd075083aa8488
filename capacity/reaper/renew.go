package reaper

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// trials bounds how often a search asks the planner.
const trials = 10

// renewer finds out which worn nodes can go now, each counting on those before, and what must be bought first for another.
type renewer struct {
	*trial
	worn map[string]bool // nodes that are to go themselves: no pod is moved there
	left int
}

// renew lets worn nodes go whose pods the planner has room for, and buys that room where it is missing: for one node at a
// time, so that no machine is counted on twice. It says whether it did anything.
func (d *decider) renew(worn []*capacity.Claim) bool {
	if len(worn) == 0 {
		return false
	}
	r := &renewer{trial: newTrial(d), worn: map[string]bool{}, left: trials}
	for _, c := range worn {
		r.worn[c.Node.Name] = true
	}
	for _, c := range oldest(worn, d.v) {
		why, detail := r.try(c)
		d.spare(c, why, detail)
	}
	for _, t := range r.chosen {
		d.Release = append(d.Release, r.releaseOf(t, d.wear[t.claim.Object.Name]))
	}
	return len(r.chosen)+len(d.Order) > 0
}

// oldest orders claims by how many pods would have to move, then by age.
func oldest(claims []*capacity.Claim, v *capacity.View) []*capacity.Claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(a, b *capacity.Claim) int {
		return cmp.Or(
			cmp.Compare(min(len(movable(v, a.Node.Name)), 1), min(len(movable(v, b.Node.Name)), 1)),
			madeAt(a.Object).Compare(madeAt(b.Object)),
			strings.Compare(a.Object.Name, b.Object.Name),
		)
	})
	return sorted
}

// try says what becomes of one worn node.
func (r *renewer) try(c *capacity.Claim) (Reason, string) {
	w, p := r.wear[c.Object.Name], r.pools[c.Object.Spec.Pool]
	if s := r.fresh.coming(c); s != nil {
		return Replacing, "machine " + s.Object.Name + " is on its way"
	}
	if r.replaced(c) {
		p.out-- // that is this one itself
	}
	why, detail := r.judgeOne(c, w, p)
	if why != w.cause && r.replaced(c) {
		p.out++
	}
	return why, detail
}

func (r *renewer) judgeOne(c *capacity.Claim, w wear, p *pool) (Reason, string) {
	if why, detail := p.overBudget(w.cause, r.now); why != "" {
		return why, detail
	}
	if why := r.budgets.refuse(movable(r.v, c.Node.Name)); why != "" {
		return PodBudget, why
	}
	switch {
	case r.grows != "":
		return Growing, r.grows
	case len(r.Order) > 0:
		return InTurn, "another machine is replaced first"
	case r.left <= 0:
		return NotReached, ""
	}
	return r.ask(c, w)
}

// ask has the planner say what it takes for a node to go.
func (r *renewer) ask(c *capacity.Claim, w wear) (Reason, string) {
	r.left--
	v := r.without(c)
	a := r.plan(v.Shut(r.worn), c)
	if a.why == NoRoom {
		a = r.plan(v, c)
	}
	switch {
	case a.why != "":
		return a.why, a.detail
	case len(a.create) > 0:
		r.Order = append(r.Order, Replacement{
			Create: replacing(a.create, w.cause, c), Old: []*v1alpha1.NodeClaim{c.Object}, Reason: w.cause, Message: w.detail,
		})
		return Replacing, "machine " + a.create[0].Name + " is bought first"
	}
	if why, detail := r.pools[c.Object.Spec.Pool].refuses(w.cause, r.now); why != "" {
		return why, detail
	}
	r.choose(c)
	return w.cause, w.detail
}

// replacing has claims take the pods of others when these go. No room is reserved: the pods that come have no names yet.
func replacing(create []*v1alpha1.NodeClaim, why Reason, old ...*capacity.Claim) []*v1alpha1.NodeClaim {
	for _, c := range create {
		c.Spec.Reserved, c.Spec.OrderedFor = nil, nil
		for _, o := range old {
			c.Spec.Replaces = append(c.Spec.Replaces, v1alpha1.ReplacedClaim{
				Name: o.Object.Name, UID: o.Object.UID, Reason: v1alpha1.ReleaseReason(why),
			})
		}
	}
	return create
}
