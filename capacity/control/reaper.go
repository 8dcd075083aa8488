package control

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// Reaper asks for the release of nodes that nobody needs, and takes it back where somebody does.
type Reaper struct {
	Live *capacity.Live
	Kube Kube
	Log  *slog.Logger
	// Decide is reaper.Decide, or a rule to compare it with.
	Decide func(*capacity.View, reaper.Memory, time.Time) reaper.Decision
	// Definitions says whether the pools' definition is being deleted; a nil one means that it never is.
	Definitions Definitions
	// Observe, where given, is told every decision and what it was made of.
	Observe func(*capacity.View, reaper.Decision)

	memory   reaper.Memory
	buying   *sync.Mutex
	poolless map[types.UID]bool // claims without a pool of which that was told
}

// Tick looks at every node once and says when to look again; 0 means when something changes.
func (r *Reaper) Tick(ctx context.Context, now time.Time) time.Duration {
	_, claims := r.Live.Claims()
	v := r.Live.View()
	r.memory = r.memory.Follow(v, now)
	d := r.Decide(v, r.memory, now)
	if len(d.Release)+len(d.Cancel)+len(d.Order) > 0 {
		if next, same := latest(ctx, r.Kube, r.Live, r.Log, v); !same {
			v = next
			d = r.Decide(v, r.memory, now)
			d.Next = shortest(d.Next, freezeAgain)
		}
	}
	d = r.hold(ctx, d)
	if r.Observe != nil {
		r.Observe(v, d)
	}
	if d.Looked {
		r.memory.Moved = now
	}
	if d.Weighed {
		r.memory.Weighed = now
	}
	r.Live.Wane(d.Waning)
	for _, back := range d.Reopen {
		r.reopen(ctx, back)
	}
	for _, release := range d.Release {
		r.release(ctx, release, now)
	}
	for _, cancel := range d.Cancel {
		r.cancel(ctx, cancel, now)
	}
	r.keep(ctx, d.Keep, now)
	r.order(ctx, d.Order, claims)
	r.settleDeletions(ctx, d, now)
	return d.Next
}

// order buys machines that are to replace others. Where another claim was written since the view was taken, there may be less left of
// a limit than was counted with, and the next tick decides anew.
func (r *Reaper) order(ctx context.Context, orders []reaper.Replacement, claims uint64) {
	if len(orders) == 0 {
		return
	}
	defer lock(r.buying)()
	if _, now := r.Live.Claims(); now != claims {
		return
	}
	for _, o := range orders {
		for _, c := range o.Create {
			if err := hold(ctx, r.Live, r.Kube, c.Spec.Pool, c.Spec.Provider); err != nil {
				if !Conflict(err) {
					r.Log.Error("could not order a replacement", "claim", c.Name, "error", err)
				}
				continue
			}
			made, err := r.Kube.CreateClaim(ctx, c)
			if err != nil {
				if !Conflict(err) {
					r.Log.Error("could not order a replacement", "claim", c.Name, "error", err)
				}
				continue
			}
			r.Live.SetClaim(made)
			r.tellOrdered(made, o)
		}
	}
}

func (r *Reaper) tellOrdered(made *v1alpha1.NodeClaim, o reaper.Replacement) {
	for _, old := range o.Old {
		r.Log.Info("replacement ordered", "claim", made.Name, "shape", made.Spec.Shape, "replaces", old.Name, "reason", o.Reason,
			"detail", o.Message)
		r.Kube.Event(Subject{Kind: "NodeClaim", PodReference: v1alpha1.PodReference{Name: old.Name, UID: old.UID}}, false,
			"ReplacementOrdered", fmt.Sprintf("machine %s is ordered to replace it: %s", made.Name, said(o.Reason, o.Message)))
	}
}

// said is a reason with its detail.
func said(why reaper.Reason, detail string) string {
	if detail == "" {
		return string(why)
	}
	return string(why) + " (" + detail + ")"
}

// lock locks a mutex, where there is one, and returns what unlocks it.
func lock(m *sync.Mutex) func() {
	if m == nil {
		return func() {}
	}
	m.Lock()
	return m.Unlock
}

// withRelease is the claim with the intent to give it back.
func withRelease(release reaper.Release, now time.Time) *v1alpha1.NodeClaim {
	c := release.Claim.DeepCopy()
	c.Spec.Release = &v1alpha1.Release{Reason: string(release.Reason), Message: release.Message, Since: metav1.NewMicroTime(now), Drain: release.Drain}
	return c
}

// cancel records the intent to give back a claim whose node does not serve.
func (r *Reaper) cancel(ctx context.Context, cancel reaper.Release, now time.Time) {
	updated, err := r.Kube.UpdateClaim(ctx, withRelease(cancel, now))
	if err != nil {
		if !Conflict(err) {
			r.Log.Error("could not record the release", "claim", cancel.Claim.Name, "error", err)
		}
		return
	}
	r.Live.SetClaim(updated)
	r.Log.Info("releasing claim", "claim", updated.Name, "state", updated.Status.State, "reason", said(cancel.Reason, cancel.Message))
}

// release closes the node in the filter first, then records the intent. The filter answers for a pod in between win:
// then the node does not close.
func (r *Reaper) release(ctx context.Context, release reaper.Release, now time.Time) {
	claim := release.Claim
	node := claim.Status.NodeName
	if !r.Live.Close(node, release.Pods) {
		return
	}
	c := withRelease(release, now)
	updated, err := r.Kube.UpdateClaim(ctx, c)
	if err != nil {
		r.Live.Reopen(node)
		if !Conflict(err) {
			r.Log.Error("could not record the release", "claim", claim.Name, "node", node, "error", err)
		}
		return
	}
	r.Live.SetClaim(updated)
	// From here on the claim itself says that the node is closed.
	r.Live.Reopen(node)
	r.Log.Info("releasing node", "claim", claim.Name, "node", node, "reason", said(release.Reason, release.Message), "pods", len(release.Pods))
}

// Reopen takes back the releases that these shortfalls have use for, before anything is bought for them. It says whether
// there were any; where one could not be taken back, because its claim is about to be another, ok is false: what is to be
// bought is not known yet.
func (r *Reaper) Reopen(ctx context.Context, v *capacity.View) (some, ok bool) {
	ok = true
	for _, back := range reaper.Reopenings(v) {
		some, ok = true, r.reopen(ctx, back) && ok
	}
	return some, ok
}

// reopen withdraws a release. The version that was decided on is the fence: a claim whose machine is already being given back
// has another one. It returns false when the claim is about to be another.
func (r *Reaper) reopen(ctx context.Context, back reaper.Reopening) bool {
	c := back.Claim.DeepCopy()
	c.Spec.Release = nil
	updated, err := r.Kube.UpdateClaim(ctx, c)
	if err != nil {
		if !Conflict(err) {
			r.Log.Error("could not withdraw the release", "claim", c.Name, "node", c.Status.NodeName, "error", err)
		}
		return !Conflict(err)
	}
	r.Live.SetClaim(updated)
	r.Log.Info("reopening node", "claim", c.Name, "node", c.Status.NodeName, "reason", back.Reason)
	return true
}
