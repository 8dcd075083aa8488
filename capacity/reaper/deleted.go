package reaper

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// deleted says that a claim's pool is being deleted.
func (p *pool) deleted() bool { return p.object != nil && p.object.DeletionTimestamp != nil }

// keepsNodes says that the nodes of a pool that is being deleted are kept as plain nodes.
func (p *pool) keepsNodes() bool {
	return p.deleted() && p.object.Annotations[v1alpha1.KeepNodesAnnotation] == "true"
}

// judgeDeleted says whether a ready node of a deleted pool may go. The pool's minimum, its spare nodes and scaleDown.disabled do not
// keep it; its budgets, annotations and pods do.
func (d *decider) judgeDeleted(c *capacity.Claim, p *v1alpha1.NodePool) (Reason, time.Duration) {
	if protected(c) {
		d.Details[c.Object.Name] = "an annotation of the claim or the node keeps it: take it off, or annotate the pool with " +
			v1alpha1.KeepNodesAnnotation + "=true"
		return Protected, 0
	}
	if !d.v.Answers(p) {
		return NoProvider, 0
	}
	if why := occupied(d.v, c.Node); why != "" && why != Occupied {
		return why, 0
	}
	if stay, pod := d.stays(c, p); stay != "" {
		d.Details[c.Object.Name] = pod
		return stay, 0
	}
	if why, wait := d.rests(c); why != "" {
		return why, wait
	}
	return PoolDeleted, 0
}

// emptyDeleted lets nodes of deleted pools go, the emptiest first, as many at once as their pools' budgets and the pods' budgets allow.
// No room is looked for: pods that find none wait, as when a claim is deleted.
func (d *decider) emptyDeleted(claims []*capacity.Claim) {
	slices.SortStableFunc(claims, func(a, b *capacity.Claim) int {
		return cmp.Or(cmp.Compare(len(movable(d.v, a.Node.Name)), len(movable(d.v, b.Node.Name))),
			strings.Compare(a.Object.Name, b.Object.Name))
	})
	budgets := newPodBudgets(d.v.Budgets)
	for _, c := range claims {
		p, pods := d.pools[c.Object.Spec.Pool], movable(d.v, c.Node.Name)
		if why, detail := p.overBudget(PoolDeleted, d.now); why != "" {
			d.spare(c, why, detail)
			d.wake(movesEvery) // a schedule of a budget may end
			continue
		}
		if why := budgets.refuse(pods); why != "" {
			d.spare(c, PodBudget, why)
			continue
		}
		budgets.spend(pods)
		p.lose()
		d.Reasons[c.Object.Name] = PoolDeleted
		d.Release = append(d.Release, Release{
			Claim: c.Object, Reason: PoolDeleted, Pods: guests(d.v, c.Node.Name), Drain: drainOf(p.object),
			Message: "pool " + p.object.Name + " is being deleted",
		})
	}
}

// disband decides about the claims of deleted pools that are not ready: those without a node that serves are given back, unless
// their node is to be kept and will be ready. It says whether the claim is dealt with.
func (d *decider) disband(c *capacity.Claim) bool {
	p := d.pools[c.Object.Spec.Pool]
	o := c.Object
	if !p.deleted() || o.DeletionTimestamp != nil {
		return false
	}
	keep := p.keepsNodes()
	_, there := d.v.Seen[c.Node.Name]
	state := o.Status.State
	serves := o.Status.NodeName != "" && there &&
		(state == v1alpha1.ClaimStarting || state == v1alpha1.ClaimReady || state == v1alpha1.ClaimDraining)
	switch {
	case o.Annotations[v1alpha1.KeepNodeAnnotation] == "true":
		d.spare(c, Kept, "the node becomes a plain node")
	case keep && serves && o.Spec.Release != nil:
		d.Reopen = append(d.Reopen, Reopening{o, Kept})
		d.spare(c, Kept, "its release is taken back")
	case keep && state == v1alpha1.ClaimReady && serves:
		d.Keep = append(d.Keep, o)
		d.spare(c, Kept, "")
	case keep && serves:
		d.spare(c, NotReady, "")
	case o.Spec.Release != nil, state == v1alpha1.ClaimReady, state == v1alpha1.ClaimDraining:
		return false
	case p.frozen != "":
		d.spare(c, Frozen, p.frozen)
	default:
		d.Cancel = append(d.Cancel, Release{
			Claim: o, Reason: PoolDeleted, Drain: drainOf(p.object), Message: "pool " + p.object.Name + " is being deleted",
		})
		d.spare(c, PoolDeleted, "")
	}
	return true
}
