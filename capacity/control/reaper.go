package control

import (
	"context"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

	memory reaper.Memory
}

// Tick looks at every node once and says when to look again; 0 means when something changes.
func (r *Reaper) Tick(ctx context.Context, now time.Time) time.Duration {
	v := r.Live.View()
	r.memory = r.memory.Follow(v, now)
	d := r.Decide(v, r.memory, now)
	if d.Looked {
		r.memory.Moved = now
	}
	r.Live.Wane(d.Waning)
	for _, back := range d.Reopen {
		r.reopen(ctx, back)
	}
	for _, release := range d.Release {
		r.release(ctx, release, now)
	}
	return d.Next
}

// release closes the node in the filter first, then records the intent. The filter answers for a pod in between win:
// then the node does not close.
func (r *Reaper) release(ctx context.Context, release reaper.Release, now time.Time) {
	claim := release.Claim
	node := claim.Status.NodeName
	if !r.Live.Close(node, release.Pods) {
		return
	}
	c := claim.DeepCopy()
	c.Spec.Release = &v1alpha1.Release{Reason: string(release.Reason), Since: metav1.NewMicroTime(now), Drain: release.Drain}
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
	r.Log.Info("releasing node", "claim", claim.Name, "node", node, "reason", release.Reason, "pods", len(release.Pods))
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
