package reaper

import (
	"fmt"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// pool counts a pool's nodes while a decision is made.
type pool struct {
	object  *v1alpha1.NodePool // nil when it is gone
	nodes   int                // that it has, those on their way out included
	serving int                // of them those that are not on their way out
	out     int                // on their way out, or not ready: what budgets count
	coming  bool               // machines of it are in flight
}

func countPools(v *capacity.View) map[string]*pool {
	pools := map[string]*pool{}
	for _, p := range v.Pools {
		pools[p.Name] = &pool{object: p}
	}
	for _, c := range v.Claims {
		p := pools[c.Object.Spec.Pool]
		if p == nil {
			p = &pool{}
			pools[c.Object.Spec.Pool] = p
		}
		p.count(c)
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
		if unreachable(c.Node.Object) {
			p.out++
		}
	}
}

// refuses says why none of the pool's nodes may go for a reason; nothing when one may.
func (p *pool) refuses(why Reason, now time.Time) (Reason, string) {
	if p.serving <= int(p.object.Spec.Limits.MinNodes) {
		return MinNodes, ""
	}
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
