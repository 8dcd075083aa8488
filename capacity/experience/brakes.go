package experience

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Brakes is what circuits mean for one plan.
type Brakes struct {
	jury *jury
	// barred are, by pool, the kinds of pods (Ask.Signature) that no machine is bought for.
	barred map[string]map[string]capacity.Reason
	// circuits by pool, then Ask.Signature.
	circuits map[string]map[string]*v1alpha1.Circuit
	next     time.Time // when the first probe is due that somebody waits for; zero when none is
}

// NewBrakes reads what the status of the pools says, and what has become of machines since.
func NewBrakes(v *capacity.View, now time.Time) *Brakes {
	b := &Brakes{
		jury: newJury(v, now), barred: map[string]map[string]capacity.Reason{}, circuits: map[string]map[string]*v1alpha1.Circuit{},
	}
	for _, pool := range v.Pools {
		circuits := b.jury.circuits(pool)
		for i := range circuits {
			waiting := b.jury.waiting(circuits[i].Pods)
			if len(waiting) == 0 {
				continue
			}
			if b.circuits[pool.Name] == nil {
				b.circuits[pool.Name], b.barred[pool.Name] = map[string]*v1alpha1.Circuit{}, map[string]capacity.Reason{}
			}
			b.circuits[pool.Name][waiting[0].Pod.Ask.Signature] = &circuits[i]
		}
	}
	return b
}

// Allows says how many machines a pool may buy for a kind of pods: any number as long as none was in vain, else one at a
// time, and with an open circuit one per hour.
func (b *Brakes) Allows(pool string, a *capacity.Ask) (machines int, limited bool) {
	x := b.circuits[pool][a.Signature]
	if x == nil {
		return 0, false
	}
	under := slices.ContainsFunc(b.jury.byPool[pool], func(c *capacity.Claim) bool {
		return slices.Contains(c.Object.Spec.OrderedFor, x.Pods) && !slices.Contains(x.Vain, c.Object.UID) &&
			(capacity.InFlight(c.Object) || !capacity.Closed(c.Object) && readyFor(c.Object, b.jury.now) < vainAfter)
	})
	if under || x.Open() && b.jury.now.Before(x.NextProbe.Time) {
		return 0, true
	}
	return 1, true
}

// Why is what stands in the way, as the last machine in vain showed it.
func (b *Brakes) Why(pool string, a *capacity.Ask) capacity.Reason {
	x := b.circuits[pool][a.Signature]
	if !x.Open() || !b.jury.now.Before(x.NextProbe.Time) {
		return capacity.Reason{Code: capacity.CodeBought, Detail: x.Message + "; one more is tried"}
	}
	return capacity.Reason{Code: capacity.CodeBought, Detail: fmt.Sprintf("%s; the next is tried at %s", x.Message, x.NextProbe.UTC().Format("15:04 MST"))}
}

// Trusts says whether a machine in flight can be expected to take such a pod: not where the pool's machines came up in
// vain for its kind, unless the machine is the one on trial.
func (b *Brakes) Trusts(c *v1alpha1.NodeClaim, a *capacity.Ask) bool {
	x := b.circuits[c.Spec.Pool][a.Signature]
	return x == nil || slices.Contains(c.Spec.OrderedFor, x.Pods)
}

// Bar has a pool buy nothing for a kind of pods in this plan.
func (b *Brakes) Bar(pool string, a *capacity.Ask) {
	x := b.circuits[pool][a.Signature]
	b.barred[pool][a.Signature] = b.Why(pool, a)
	if x.Open() && x.NextProbe.After(b.jury.now) && (b.next.IsZero() || x.NextProbe.Time.Before(b.next)) {
		b.next = x.NextProbe.Time
	}
}

// Idle says whether no machine was in vain.
func (b *Brakes) Idle() bool { return len(b.circuits) == 0 }

// Barred are the kinds of pods (Ask.Signature) that a pool buys nothing for, with the reason. It grows with Bar.
func (b *Brakes) Barred(pool string) map[string]capacity.Reason { return b.barred[pool] }

// Wait is how long it takes until the first probe is due that somebody waits for; 0 when none is.
func (b *Brakes) Wait() time.Duration {
	if b.next.IsZero() {
		return 0
	}
	return b.next.Sub(b.jury.now)
}
