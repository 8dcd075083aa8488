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

// Reason says what Decide thinks of a node of ours, in CamelCase; stable.
type Reason string

// The reasons. All but Idle spare the node.
const (
	Idle        Reason = "Idle"        // empty for the pool's idle time: to be released
	Waiting     Reason = "Waiting"     // empty, but not for long enough
	Occupied    Reason = "Occupied"    // pods of its own are there
	Held        Reason = "Held"        // a pod is on its way there
	Reserved    Reason = "Reserved"    // room is kept for the pods it was ordered for
	MinNodes    Reason = "MinNodes"    // the pool would fall below its minimum
	Disabled    Reason = "Disabled"    // the pool's nodes stay
	NoPool      Reason = "NoPool"      // its pool is gone: nobody says what may happen to it
	NotReady    Reason = "NotReady"    // the claim is not in state Ready
	Protected   Reason = "Protected"   // annotated with muster.sh/do-not-release, or as other autoscalers have it
	Outage      Reason = "Outage"      // a large part of the cluster is not ready: nobody knows what will be needed
	NoProvider  Reason = "NoProvider"  // its provider is missing or does not answer
	InDemand    Reason = "InDemand"    // pods wait that could use it
	Unconfirmed Reason = "Unconfirmed" // the claim is ready, its node is not in the view
)

// Decision names the claims to release, and says why for every claim.
type Decision struct {
	Release []*v1alpha1.NodeClaim
	// Reopen are releases to be taken back.
	Reopen  []Reopening
	Reasons map[string]Reason // by claim
	// Next is when a node that is idle now may go; 0 when only events matter.
	Next time.Duration
}

// Empty says since when each node has been empty; nodes that are not are left out.
type Empty map[string]time.Time

// Follow takes over the times of nodes that are still empty and starts the clock of those that have become so.
func (e Empty) Follow(v *capacity.View, now time.Time) Empty {
	next := Empty{}
	for _, c := range v.Claims {
		if c.Object.Status.State != v1alpha1.ClaimReady || occupied(v, c.Node) != "" {
			continue
		}
		since, known := e[c.Node.Name]
		if !known {
			since = now
		}
		next[c.Node.Name] = since
	}
	return next
}

// Decide says which claims may be released now.
func Decide(v *capacity.View, empty Empty, now time.Time) Decision {
	d := Decision{Reasons: map[string]Reason{}, Reopen: reopenings(v)}
	pools := map[string]*v1alpha1.NodePool{}
	left := map[string]int32{}
	for _, p := range v.Pools {
		pools[p.Name] = p
	}
	for _, c := range v.Claims {
		if c.Object.Status.State == v1alpha1.ClaimReady && !capacity.Closed(c.Object) {
			left[c.Object.Spec.Pool]++
		}
	}
	outage := outage(v)
	for _, c := range idlest(v.Claims, empty) {
		why, wait := judge(v, c, pools[c.Object.Spec.Pool], empty, now)
		if why == Idle && outage {
			why = Outage
		}
		if why == Idle && left[c.Object.Spec.Pool] <= pools[c.Object.Spec.Pool].Spec.Limits.MinNodes {
			why = MinNodes
		}
		d.Reasons[c.Object.Name] = why
		switch {
		case why == Idle:
			left[c.Object.Spec.Pool]--
			d.Release = append(d.Release, c.Object)
		case wait > 0 && (d.Next == 0 || wait < d.Next):
			d.Next = wait
		}
	}
	return d
}

// idlest orders claims by how long their node has been empty, so that a minimum spares the youngest.
func idlest(claims []*capacity.Claim, empty Empty) []*capacity.Claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(a, b *capacity.Claim) int {
		if c := empty[a.Node.Name].Compare(empty[b.Node.Name]); c != 0 {
			return c
		}
		return strings.Compare(a.Object.Name, b.Object.Name)
	})
	return sorted
}

func judge(v *capacity.View, c *capacity.Claim, pool *v1alpha1.NodePool, empty Empty, now time.Time) (Reason, time.Duration) {
	since, isEmpty := empty[c.Node.Name]
	switch {
	case c.Object.Status.State != v1alpha1.ClaimReady || capacity.Closed(c.Object):
		return NotReady, 0
	case pool == nil:
		return NoPool, 0
	case pool.Spec.ScaleDown.Disabled:
		return Disabled, 0
	case protected(c):
		return Protected, 0
	case !answers(v.Providers[pool.Spec.Provider]):
		return NoProvider, 0
	case !isEmpty:
		return occupiedOr(v, c.Node), 0
	}
	if left := since.Add(idleAfter(pool)).Sub(now); left > 0 {
		return Waiting, left
	}
	if wanted(v, c.Node) {
		return InDemand, 0
	}
	return Idle, 0
}

// DefaultIdleAfter is the CRD's default, for pools that did not pass an API server.
const DefaultIdleAfter = 10 * time.Minute

func idleAfter(p *v1alpha1.NodePool) time.Duration {
	if d := p.Spec.ScaleDown.IdleAfter; d != nil {
		return d.Duration
	}
	return DefaultIdleAfter
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
	for _, p := range v.Pods[n.Name] {
		if !p.Resident() {
			return Occupied
		}
	}
	switch {
	case v.HeldOn[n.Name] > 0:
		return Held
	case !n.Reserved.IsZero():
		return Reserved
	}
	return ""
}

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
