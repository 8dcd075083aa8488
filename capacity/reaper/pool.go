package reaper

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// pool counts a pool's nodes while a decision is made.
type pool struct {
	object   *v1alpha1.NodePool // nil when it is gone
	nodes    int                // that it has, those on their way out included
	serving  int                // of them those that are not on their way out
	out      int                // on their way out, or not ready: what budgets count
	coming   bool               // machines of it are in flight
	vacant   int                // serving without pods
	machines int                // that it has in any state
	used     int                // serving with pods, or in flight for some
	full     bool               // it has as many machines as it may, and pods wait
	frozen   string             // who stopped its releases, and why; "" while they go on
}

func countPools(v *capacity.View, fresh substitutes) map[string]*pool {
	pools := map[string]*pool{}
	for _, p := range v.Pools {
		_, frozen := v.Freeze.Releases(p.Name)
		pools[p.Name] = &pool{object: p, frozen: frozen}
	}
	short := unpromised(v)
	for _, c := range v.Claims {
		p := pools[c.Object.Spec.Pool]
		if p == nil {
			p = &pool{}
			pools[c.Object.Spec.Pool] = p
		}
		p.count(c)
		p.occupy(v, c, short, fresh)
	}
	return pools
}

func (p *pool) count(c *capacity.Claim) {
	state := c.Object.Status.State
	switch {
	case c.InFlight():
		p.coming = true
	case state == v1alpha1.ClaimFailed:
	case capacity.Closed(c.Object):
		p.nodes++
		p.out++
	case state == v1alpha1.ClaimReady:
		p.nodes++
		p.serving++
		if capacity.Unreachable(c.Node.Object) {
			p.out++
		}
	}
}

// unpromised says whether a pod waits for which no machine is on its way.
func unpromised(v *capacity.View) bool {
	promised := map[types.UID]bool{}
	for _, pods := range v.Reserved {
		for _, p := range pods {
			promised[p.UID] = true
		}
	}
	return slices.ContainsFunc(v.Shortfalls, func(s *capacity.Shortfall) bool { return !promised[s.Pod.UID] })
}

// occupy counts what a pool keeps spare. While it may not grow and pods wait for nothing, none is kept: what they need may
// have another shape.
func (p *pool) occupy(v *capacity.View, c *capacity.Claim, short bool, fresh substitutes) {
	if p.object == nil {
		return
	}
	p.machines++
	p.full = p.machines >= int(p.object.Spec.Limits.MaxNodes) && short
	switch {
	case capacity.Closed(c.Object):
	case !v.Vacant(c), fresh.awaits(c):
		p.used++
	case !c.InFlight():
		p.vacant++
	}
}

// refuses says why none of the pool's nodes may go for a reason; nothing when one may.
func (p *pool) refuses(why Reason, now time.Time) (Reason, string) {
	if p.serving <= int(p.object.Spec.Limits.MinNodes) {
		return MinNodes, ""
	}
	if why == Idle && !p.full && p.vacant <= policy.Spare(p.object, p.used) {
		return Spare, ""
	}
	return p.overBudget(why, now)
}

// overBudget says that as many of the pool's nodes are on their way out as may be.
func (p *pool) overBudget(why Reason, now time.Time) (Reason, string) {
	limit, budget := policy.ReleaseLimit(&p.object.Spec.ScaleDown, v1alpha1.ReleaseReason(why), p.nodes, now)
	if p.out >= limit {
		return Budget, fmt.Sprintf("%s: %d of %d are on their way out or not ready", budget, p.out, p.nodes)
	}
	return "", ""
}

// lose counts a node that goes.
func (p *pool) lose() {
	p.serving--
	p.out++
}

// regain takes lose back.
func (p *pool) regain() {
	p.serving++
	p.out--
}
