package experience

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// Classes of failures, as the claim's Launched condition names them. All others are machines that were made and never
// became nodes.
const (
	classNoCapacity = "NoCapacity"    // the provider has no room for the machine now
	classRefused    = "LaunchRefused" // the provider will not make it
)

// backoffOf is how long a pool waits after failures of a class in a row. The first wait is that of the claim that failed,
// which is kept so long.
func backoffOf(class string) policy.Backoff {
	if class == classNoCapacity {
		return policy.Backoff{First: time.Minute, Most: 16 * time.Minute}
	}
	return policy.Backoff{First: 10 * time.Minute, Most: 80 * time.Minute}
}

// backoffsKept is for how long after its end a wait is remembered, so that the next failure counts as one in a row.
const backoffsKept = time.Hour

// maxBackoffs is how many the pool's status may list.
const maxBackoffs = 64

// maxMessage is the longest message of a wait.
const maxMessage = 1024

// Backoffs brings the waits of a pool up to date: failures of one class in a row make it wait longer each time, those of
// one wave count once, and a machine that gets further than the failed ones did ends them. Where a provider has no room for a
// shape, that shape and the larger ones wait; any other failure concerns the whole pool, and so does every failure of a
// range. claims are those of the pool.
func Backoffs(v *capacity.View, pool *v1alpha1.NodePool, claims []*capacity.Claim, now time.Time) []v1alpha1.PoolBackoff {
	var waits []v1alpha1.PoolBackoff
	if len(pool.Status.Backoffs) > 0 && pool.Status.Template == v.Template(pool).Hash {
		for i := range pool.Status.Backoffs {
			b := pool.Status.Backoffs[i].DeepCopy()
			rebaseBackoff(b, now)
			if now.Sub(b.Until.Time) < backoffsKept && !ended(b, claims) {
				waits = append(waits, *b)
			}
		}
	}
	for _, c := range claims {
		if until := failedUntil(c.Object, now); until.After(now) {
			waits = countFailure(waits, pool, c.Object, until, now)
		}
	}
	slices.SortFunc(waits, func(a, b v1alpha1.PoolBackoff) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Shape, b.Shape))
	})
	return waits[:min(len(waits), maxBackoffs)]
}

// rebaseBackoff lets a wait that was noted by a clock that was ahead begin now, so that it takes as long as it was to take.
func rebaseBackoff(b *v1alpha1.PoolBackoff, now time.Time) {
	if length := b.Until.Sub(b.Since.Time); b.Since.After(now) {
		b.Since = metav1.NewMicroTime(now.Truncate(time.Microsecond))
		b.Until = metav1.NewMicroTime(now.Add(length).Truncate(time.Microsecond))
	}
}

// ended says whether a machine that was ordered after the failures got further than they did.
func ended(b *v1alpha1.PoolBackoff, claims []*capacity.Claim) bool {
	return slices.ContainsFunc(claims, func(c *capacity.Claim) bool {
		st, further := &c.Object.Status, c.Object.Status.ReadyAt
		if b.Class == classNoCapacity || b.Class == classRefused {
			further = st.LaunchedAt
		}
		return further != nil && further.After(b.Since.Time) && (b.Shape == "" || b.Shape == c.Object.Spec.Shape)
	})
}

// failedUntil is the end of the first wait for a claim that failed, the zero time for any other. One that is about to fail,
// since it may launch no machine more, counts already: its pods would be the first to run against the same wall.
func failedUntil(c *v1alpha1.NodeClaim, now time.Time) time.Time {
	switch next := c.Status.NextAttempt; {
	case capacity.GivesUp(c):
		return now.Add(backoffOf(failure(c)).First)
	case c.Status.State == v1alpha1.ClaimFailed && next != nil:
		return earlier(next.Time, now.Add(backoffOf(failure(c)).First))
	}
	return time.Time{}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// countFailure adds the failure of a claim, unless it was ordered before the last one was known.
func countFailure(waits []v1alpha1.PoolBackoff, pool *v1alpha1.NodePool, c *v1alpha1.NodeClaim, until, now time.Time) []v1alpha1.PoolBackoff {
	fresh := v1alpha1.PoolBackoff{Class: failure(c)}
	if pool.Spec.Template.Range == nil && fresh.Class == classNoCapacity {
		fresh.Shape, fresh.Capacity = c.Spec.Shape, c.Spec.Resources.DeepCopy()
	}
	at := slices.IndexFunc(waits, func(b v1alpha1.PoolBackoff) bool { return b.Class == fresh.Class && b.Shape == fresh.Shape })
	if at < 0 {
		at, waits = len(waits), append(waits, fresh)
	}
	b := &waits[at]
	if b.Failures > 0 && !c.CreationTimestamp.After(b.Since.Time) {
		return waits
	}
	b.Failures++
	b.Since, b.Message = metav1.NewMicroTime(now.Truncate(time.Microsecond)), c.Status.Message
	b.Message = b.Message[:min(len(b.Message), maxMessage)]
	b.Until = metav1.NewMicroTime(until.Truncate(time.Microsecond))
	if end := now.Add(backoffOf(b.Class).Wait(int(b.Failures), pool.Name+"/"+b.Class+"/"+b.Shape)); b.Failures > 1 && end.After(b.Until.Time) {
		b.Until = metav1.NewMicroTime(end.Truncate(time.Microsecond))
	}
	return waits
}

// failure is the class of the error that a claim failed with.
func failure(c *v1alpha1.NodeClaim) string {
	if c.Status.State == v1alpha1.ClaimReleasing {
		return capacity.ReleasedFor(c)
	}
	if launched := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionLaunched); launched != nil {
		return launched.Reason
	}
	return string(c.Status.State)
}
