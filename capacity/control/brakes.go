package control

import (
	"context"
	"slices"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
)

// settledAtOnce bounds how many claims are settled in one pass: nothing waits for it.
const settledAtOnce = 20

// settleClaims strikes the kinds of pods off claims about which nothing is left to be found out: the machine took such a
// pod, or the pool's status says already that it was in vain.
func (p *Planner) settleClaims(ctx context.Context, v *capacity.View, review experience.Review) {
	settled := 0
	for _, c := range v.Claims {
		decided := review.Decided[c.Object.Name]
		if len(decided) == 0 || c.Object.DeletionTimestamp != nil {
			continue
		}
		if settled++; settled > settledAtOnce {
			return
		}
		next := c.Object.DeepCopy()
		next.Spec.OrderedFor = slices.DeleteFunc(next.Spec.OrderedFor, func(key string) bool {
			return slices.Contains(decided, key)
		})
		updated, err := p.Kube.UpdateClaim(ctx, next)
		if err != nil {
			if !Conflict(err) {
				p.Log.Warn("cannot settle what a machine was ordered for", "claim", c.Object.Name, "error", err)
			}
			continue
		}
		p.Live.SetClaim(updated)
	}
}
