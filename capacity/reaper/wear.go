package reaper

import (
	"fmt"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// wear is why a node is to go whatever it carries.
type wear struct {
	cause  Reason
	detail string
}

// findWear looks for nodes that their pool would make otherwise now, and for old ones, where the pool asks for that.
func (d *decider) findWear() map[string]wear {
	found, drifts := map[string]wear{}, map[string]capacity.Drift{}
	for _, c := range d.v.Claims {
		p := d.pools[c.Object.Spec.Pool].object
		if p == nil || c.Object.Status.State != v1alpha1.ClaimReady || capacity.Closed(c.Object) {
			continue
		}
		if p.Spec.ScaleDown.ReplaceDrifted {
			if _, made := drifts[p.Name]; !made {
				drifts[p.Name] = capacity.NewDrift(p)
			}
			if what := drifts[p.Name].Of(c.Object); what != "" {
				found[c.Object.Name] = wear{Drifted, what}
				continue
			}
		}
		if end := expiry(c.Object, p); !end.IsZero() {
			if left := end.Sub(d.now); left > 0 {
				d.wake(left)
				continue
			}
			found[c.Object.Name] = wear{Expired, fmt.Sprintf("older than %s", p.Spec.ScaleDown.ExpireAfter.Duration)}
		}
	}
	return found
}

// expiry is when a claim's machine is too old; zero when it may grow old.
func expiry(c *v1alpha1.NodeClaim, p *v1alpha1.NodePool) time.Time {
	after := p.Spec.ScaleDown.ExpireAfter
	if after == nil || madeAt(c).IsZero() {
		return time.Time{}
	}
	return madeAt(c).Add(after.Duration)
}

// madeAt is when the machine was made, as far as that is known.
func madeAt(c *v1alpha1.NodeClaim) time.Time {
	if c.Status.LaunchedAt != nil {
		return c.Status.LaunchedAt.Time
	}
	return c.CreationTimestamp.Time
}

// judgeWorn says whether such a node may go, as far as it alone can say.
func (d *decider) judgeWorn(c *capacity.Claim, p *v1alpha1.NodePool, cause Reason) (Reason, time.Duration) {
	if why := occupied(d.v, c.Node); why != Occupied {
		return occupiedOr(d.v, c.Node), 0
	}
	if stay, pod := d.stays(c, p); stay != "" {
		d.Details[c.Object.Name] = pod
		return stay, 0
	}
	if why, wait := d.rests(c); why != "" {
		return why, wait
	}
	return cause, 0
}
