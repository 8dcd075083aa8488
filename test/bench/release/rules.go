// Package release sets Muster's reaper beside two plain rules, in the same replay: release when empty, and keep one node
// less than fits with a fifth of headroom. It is for measuring only.
package release

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/reaper"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// headroom is the part that the n-1 rule leaves free, of cpu and of memory.
const headroom = 0.2

// pause is how often the n-1 rule looks, and how long it waits between two releases of a pool.
const pause = time.Minute

// OneLess releases the node of a pool with the fewest requests when what all the pool's pods ask for, and a fifth more, is
// offered by the others. It adds amounts up and looks at no pod: the rule that kproximate describes.
type OneLess struct{ last map[string]time.Time }

// Decide is a replay.Options.Decide.
func (r *OneLess) Decide(v *capacity.View, _ reaper.Memory, now time.Time) reaper.Decision {
	if r.last == nil {
		r.last = map[string]time.Time{}
	}
	d := reaper.Decision{Reasons: map[string]reaper.Reason{}, Next: pause, Reopen: reaper.Reopenings(v)}
	for _, p := range v.Pools {
		if now.Sub(r.last[p.Name]) < pause {
			continue
		}
		if c := least(v, p.Name); c != nil {
			r.last[p.Name] = now
			d.Release = append(d.Release, reaper.Release{
				Claim: c.Object, Reason: reaper.Underused, Pods: moving(v, c), Drain: &v1alpha1.Drain{
					Timeout: metav1.Duration{Duration: 15 * time.Minute}, EvictLocalStorage: true,
				},
			})
		}
	}
	return d
}

// least is the node to go; nil when the others do not offer enough, pods wait, or a machine is on its way or going.
func least(v *capacity.View, pool string) *capacity.Claim {
	var ready []*capacity.Claim
	offered, used := amounts{}, amounts{}
	for _, c := range v.Claims {
		if c.Object.Spec.Pool != pool {
			continue
		}
		if c.Object.Status.State != v1alpha1.ClaimReady || capacity.Closed(c.Object) || !c.Node.Reserved.IsZero() {
			return nil
		}
		ready = append(ready, c)
		offered.add(c.Node.Allocatable, 1)
		used.add(c.Node.Used, 1)
	}
	if len(ready) == 0 || len(v.Shortfalls) > 0 {
		return nil
	}
	c := slices.MinFunc(ready, func(a, b *capacity.Claim) int {
		return cmp.Or(cmp.Compare(a.Node.Used.MilliCPU, b.Node.Used.MilliCPU), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	offered.add(c.Node.Allocatable, -1)
	for name, amount := range used {
		if amount*(1+headroom) > offered[name] {
			return nil
		}
	}
	return c
}

// amounts are resources by name, as numbers to be added up.
type amounts map[string]float64

func (a amounts) add(r amount.Resources, sign float64) {
	a["cpu"] += sign * float64(r.MilliCPU)
	a["memory"] += sign * float64(r.Memory)
	for name, amount := range r.Scalar {
		a[string(name)] += sign * float64(amount)
	}
}

func moving(v *capacity.View, c *capacity.Claim) []*capacity.Pod {
	return slices.DeleteFunc(slices.Clone(v.Pods[c.Node.Name]), (*capacity.Pod).Resident)
}
