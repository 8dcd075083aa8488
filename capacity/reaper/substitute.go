package reaper

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// awaited is how long a machine that was bought to replace others counts as theirs once it is ready. What has not moved to it
// by then had a reason, and the machine is one like any other.
const awaited = 10 * time.Minute

// substitutes are machines that were bought to replace others, and are on their way or new.
type substitutes struct {
	of       map[types.UID][]*capacity.Claim // by the claim that is to go
	awaiting map[types.UID]bool              // that still wait for pods
}

func substitutesOf(v *capacity.View, now time.Time) substitutes {
	s := substitutes{of: map[types.UID][]*capacity.Claim{}, awaiting: map[types.UID]bool{}}
	for _, c := range v.Claims {
		if len(c.Object.Spec.Replaces) == 0 || capacity.Closed(c.Object) {
			continue
		}
		for _, ref := range c.Object.Spec.Replaces {
			old := v.Claim(ref.Name)
			if old == nil || old.Object.UID != ref.UID {
				continue
			}
			if c.InFlight() || now.Before(readyAt(c.Object).Add(awaited)) {
				s.of[ref.UID] = append(s.of[ref.UID], c)
				s.awaiting[c.Object.UID] = s.awaiting[c.Object.UID] || old.Object.Status.State == v1alpha1.ClaimReady
			}
			leaves := old.Object.Spec.Release != nil && old.Object.Status.State != v1alpha1.ClaimReleasing
			s.awaiting[c.Object.UID] = s.awaiting[c.Object.UID] || leaves
		}
	}
	return s
}

func readyAt(c *v1alpha1.NodeClaim) time.Time {
	if c.Status.ReadyAt == nil {
		return time.Time{}
	}
	return c.Status.ReadyAt.Time
}

// awaits says whether a new node is kept empty for pods that are about to come from those it replaces.
func (s substitutes) awaits(c *capacity.Claim) bool { return s.awaiting[c.Object.UID] }

// left is how long that may last; 0 when it ends with something that happens.
func (s substitutes) left(c *capacity.Claim, now time.Time) time.Duration {
	return max(readyAt(c.Object).Add(awaited).Sub(now), 0)
}

// coming is a machine on its way that replaces a claim; nil when there is none.
func (s substitutes) coming(c *capacity.Claim) *capacity.Claim {
	for _, r := range s.of[c.Object.UID] {
		if r.InFlight() {
			return r
		}
	}
	return nil
}

// groups are the machines that were bought to replace several for less, and the open ones of those; by name.
func (d *decider) groups() (out []group) {
	for _, c := range d.v.Claims {
		if !d.fresh.awaits(c) || c.Object.Spec.Replaces[0].Reason != v1alpha1.ReleaseConsolidated {
			continue
		}
		g := group{by: c}
		for _, ref := range c.Object.Spec.Replaces {
			if old := d.v.Claim(ref.Name); old != nil && old.Object.UID == ref.UID && d.replaced(old) {
				g.old = append(g.old, old)
			}
		}
		if len(g.old) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// group is nodes that go together, and the machine that takes their pods.
type group struct {
	by  *capacity.Claim
	old []*capacity.Claim
}

// countReplaced counts nodes whose replacement was bought as on their way out: budgets are about how many change at once.
func (d *decider) countReplaced() {
	for _, c := range d.v.Claims {
		if d.replaced(c) {
			d.pools[c.Object.Spec.Pool].out++
		}
	}
}

// replaced says whether an open node counts as on its way out because of a machine that is to replace it.
func (d *decider) replaced(c *capacity.Claim) bool {
	return len(d.fresh.of[c.Object.UID]) > 0 && c.Object.Status.State == v1alpha1.ClaimReady && !capacity.Closed(c.Object) &&
		!capacity.Unreachable(c.Node.Object)
}
