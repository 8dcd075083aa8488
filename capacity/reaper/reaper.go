// Package reaper decides which nodes may go. It reads no clock, client or log, evicts nobody and calls no provider: what
// it names is closed, drained and given back by the loops.
package reaper

import (
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Decision names the claims to release, and says why for every claim.
type Decision struct {
	Release []Release
	// Cancel are claims of deleted pools that are to be given back and whose nodes take no pods yet, or never will.
	Cancel []Release
	// Keep are claims of deleted pools whose nodes are to be plain nodes.
	Keep []*v1alpha1.NodeClaim
	// Order are machines to be bought first for nodes that are to go.
	Order []Replacement
	// Reopen are releases to be taken back.
	Reopen  []Reopening
	Reasons map[string]Reason // by claim
	// Details say of some claims what is in the way: a pod, a budget.
	Details map[string]string
	// Waning are the nodes that are likely to be emptied: pods had better go elsewhere.
	Waning []string
	// Next is when a node that waits now may go; 0 when only events matter.
	Next time.Duration
	// Looked says that it was looked for nodes whose pods could move.
	Looked bool
	// Weighed says that it was looked for nodes that one cheaper machine could replace.
	Weighed bool
}

// Release is a claim to be given back.
type Release struct {
	Claim  *v1alpha1.NodeClaim
	Reason Reason
	// Pods were on the node when this was decided, those that live and die with it left out. They are to be evicted as Drain says;
	// without one there are none.
	Pods  []*capacity.Pod
	Drain *v1alpha1.Drain
	// Message says more than the reason.
	Message string
}

// Replacement is machines that take the pods of nodes that are to go.
type Replacement struct {
	// Create are claims ready to be created. They name Old in spec.replaces.
	Create []*v1alpha1.NodeClaim
	Old    []*v1alpha1.NodeClaim
	Reason Reason
	// Message says more than the reason.
	Message string
}

// decider is one run of Decide.
type decider struct {
	Decision
	v      *capacity.View
	memory Memory
	now    time.Time
	pools  map[string]*pool
	outage bool
	wear   map[string]wear // by claim
	fresh  substitutes
}

// Decide says which claims may be released now: first those of empty nodes, then those whose pods fit elsewhere.
func Decide(v *capacity.View, m Memory, now time.Time) Decision {
	fresh := substitutesOf(v, now)
	d := &decider{
		Decision: Decision{Reasons: map[string]Reason{}, Details: map[string]string{}, Reopen: reopenings(v)},
		v:        v, memory: m, now: now, pools: countPools(v, fresh), fresh: fresh,
	}
	d.findOutage()
	d.wear = d.findWear()
	d.countReplaced()
	var few, worn, poolless []*capacity.Claim
	for _, c := range longest(v.Claims, m.Empty) {
		if d.disband(c) {
			continue
		}
		why, wait := d.judge(c)
		switch why {
		case Idle:
			if d.release(c, Release{Claim: c.Object, Reason: Idle}) || d.wear[c.Object.Name].cause == "" {
				continue
			}
			why = d.wear[c.Object.Name].cause
			worn = append(worn, c)
		case Underused:
			few = append(few, c)
		case Drifted, Expired:
			worn = append(worn, c)
		case PoolDeleted:
			poolless = append(poolless, c)
		}
		d.Reasons[c.Object.Name] = why
		d.wake(wait)
	}
	d.emptyDeleted(poolless)
	d.search(few, worn)
	d.findWaning()
	return d.Decision
}

// findWaning names the under-used nodes that nothing lasting keeps.
func (d *decider) findWaning() {
	for _, c := range d.v.Claims {
		if p := d.pools[c.Object.Spec.Pool]; p.deleted() && !p.keepsNodes() {
			d.Waning = append(d.Waning, c.Node.Name)
			continue
		}
		_, few := d.memory.Underused[c.Node.Name]
		switch d.Reasons[c.Object.Name] {
		case Waiting, Underused, NoRoom, Headroom, Budget, BoughtBack, NotReached, Growing:
			if few {
				d.Waning = append(d.Waning, c.Node.Name)
			}
		}
	}
}

// wake asks for another decision after a while, if not earlier.
func (d *decider) wake(after time.Duration) {
	if after > 0 && (d.Next == 0 || after < d.Next) {
		d.Next = after
	}
}

// spare notes why a claim stays.
func (d *decider) spare(c *capacity.Claim, why Reason, detail string) {
	d.Reasons[c.Object.Name] = why
	if detail != "" {
		d.Details[c.Object.Name] = detail
	}
}

// release lets a claim go, unless its pool may spare none.
func (d *decider) release(c *capacity.Claim, r Release) bool {
	p := d.pools[c.Object.Spec.Pool]
	if why, detail := p.refuses(r.Reason, d.now); why != "" {
		d.spare(c, why, detail)
		return false
	}
	p.lose()
	if r.Reason == Idle {
		p.vacant--
	}
	d.Reasons[c.Object.Name] = r.Reason
	d.Release = append(d.Release, r)
	return true
}

// longest orders claims by how long their node has been empty, so that a minimum spares the youngest.
func longest(claims []*capacity.Claim, since Clock) []*capacity.Claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(a, b *capacity.Claim) int {
		if c := since[a.Node.Name].Compare(since[b.Node.Name]); c != 0 {
			return c
		}
		return strings.Compare(a.Object.Name, b.Object.Name)
	})
	return sorted
}

// judge says what is to be said of a node by itself, and when that may change.
func (d *decider) judge(c *capacity.Claim) (Reason, time.Duration) {
	p := d.pools[c.Object.Spec.Pool]
	switch {
	case c.Object.Status.State != v1alpha1.ClaimReady || capacity.Closed(c.Object):
		return NotReady, 0
	case p.object == nil:
		return NoPool, 0
	case p.object.Spec.ScaleDown.Disabled && !p.deleted():
		return Disabled, 0
	case p.frozen != "":
		d.Details[c.Object.Name] = p.frozen
		return Frozen, 0
	case p.deleted():
		return d.judgeDeleted(c, p.object)
	case protected(c):
		return Protected, 0
	case !d.v.Answers(p.object): // the claim would stay in Releasing, where nobody can use the node, for as long as it is silent
		return NoProvider, 0
	}
	cause := d.wear[c.Object.Name].cause
	if since, empty := d.memory.Empty[c.Node.Name]; empty {
		return d.judgeEmpty(c, since.Add(idleAfter(p.object)), cause)
	}
	if cause != "" {
		return d.judgeWorn(c, p.object, cause)
	}
	return d.judgeUnderused(c, p.object)
}

func (d *decider) judgeEmpty(c *capacity.Claim, end time.Time, cause Reason) (Reason, time.Duration) {
	left := end.Sub(d.now)
	switch {
	case left > 0 && cause == "":
		return Waiting, left
	case cause == "" && d.fresh.awaits(c):
		return Replacing, d.fresh.left(c, d.now)
	case wanted(d.v, c.Node):
		return InDemand, 0
	case d.outage:
		return Outage, 0
	case left > 0:
		return cause, 0
	}
	return Idle, 0
}

func (d *decider) judgeUnderused(c *capacity.Claim, p *v1alpha1.NodePool) (Reason, time.Duration) {
	since, few := d.memory.Underused[c.Node.Name]
	if !few {
		return occupiedOr(d.v, c.Node), 0
	}
	if stay, pod := d.stays(c, p); stay != "" {
		d.Details[c.Object.Name] = pod
		return stay, 0
	}
	if d.replaced(c) {
		return Replacing, 0
	}
	if left := since.Add(underusedAfter(p)).Sub(d.now); left > 0 {
		return Waiting, left
	}
	if why, wait := d.rests(c); why != "" {
		return why, wait
	}
	return Underused, 0
}

// stays is what keeps a pod of the node where it is, and the node with it.
func (d *decider) stays(c *capacity.Claim, p *v1alpha1.NodePool) (why Reason, which string) {
	for _, pod := range movable(d.v, c.Node.Name) {
		if stay := pod.Stays(d.v.Schedulers, p.Spec.ScaleDown.EvictLocalStorage); stay != "" {
			return Reason(stay), "pod " + pod.Key()
		}
	}
	return "", ""
}

// rests says whether no pods are to be evicted from a node now.
func (d *decider) rests(c *capacity.Claim) (Reason, time.Duration) {
	if again := c.Object.Status.DrainAgain; again != nil && d.now.Before(again.Time) {
		return BackingOff, again.Sub(d.now)
	}
	if d.outage {
		return Outage, 0
	}
	return "", 0
}

func occupiedOr(v *capacity.View, n *capacity.Node) Reason {
	if why := occupied(v, n); why != "" {
		return why
	}
	return Waiting
}

// occupied says what keeps a node from being empty; "" when nothing does.
func occupied(v *capacity.View, n *capacity.Node) Reason {
	if _, there := v.Seen[n.Name]; !there {
		return Unconfirmed
	}
	switch {
	case v.HeldOn[n.Name] > 0:
		return Held
	case !n.Reserved.IsZero():
		return Reserved
	case slices.ContainsFunc(v.Pods[n.Name], guest):
		return Occupied
	}
	return ""
}

// guest says whether a pod would outlive its node.
func guest(p *capacity.Pod) bool { return !p.Resident() }

// wanted says whether a pod that waits would fit: a node is not released while it could serve.
func wanted(v *capacity.View, n *capacity.Node) bool {
	free := n.Free()
	for _, s := range v.Shortfalls {
		if !s.RefusesNode(n.Name, v.Seen[n.Name]) && capacity.Fit(s.Pod.Ask, n, free, v.Classes).Fits {
			return true
		}
	}
	return false
}
