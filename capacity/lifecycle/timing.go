package lifecycle

import (
	"time"

	"github.com/muster-sh/muster/policy"
)

// How long things take, where the claim itself does not say. Step never waits: these become Result.Next.
const (
	// NoCapacityKept and FailedKept are how long a claim without a machine is kept for its reason. It occupies its slot
	// that long, so its pool does not run against the same wall again.
	NoCapacityKept = time.Minute
	FailedKept     = 10 * time.Minute

	// relaunchFirst and relaunchMost bound the wait between two attempts.
	relaunchFirst = 30 * time.Second
	relaunchMost  = 5 * time.Minute

	// goesWithin is how long the pods of a machine that did not come up wait for it to be gone, so that the next one is launched.
	goesWithin = time.Minute

	// restartAgain is how often a machine that is being switched off or on is asked about. Each of the two, and the boot after
	// them, has the claim's registration timeout, or restartMost where that is none.
	restartAgain = 2 * time.Second
	restartMost  = 15 * time.Minute

	// drainSettle is the time between the first sight of the closed Node and the look that may find it empty: a binding
	// that was under way shows within it.
	drainSettle = 2 * time.Second
	// evictAgain is how often a pod that stays is evicted again.
	evictAgain = 5 * time.Second
	// withdrawAgain is how soon the release of a drain that was given up is withdrawn again, where the write failed.
	withdrawAgain = time.Second
	// detachTimeout is how long an empty node's volumes are waited for, detachAgain how often they are looked at.
	detachTimeout = 2 * time.Minute
	detachAgain   = 2 * time.Second
	// unheardAgain is how often it is looked whether every pod was heard of.
	unheardAgain = 500 * time.Millisecond
	// deadGrace is how long the pods of a node that is replaced because it is not ready have to end, should it be alive.
	deadGrace = time.Minute
	// lateNode is how long a Node that registered in its machine's last moment has to show up.
	lateNode = 2 * time.Second
	// lateCreate is how long a creation whose answer was lost may still be carried out.
	lateCreate = 10 * time.Second

	// lookAgain is how often a machine is looked at while its Node is missing or not ready, deleteAgain how often a
	// deletion is asked about.
	lookAgain   = 15 * time.Second
	deleteAgain = 2 * time.Second
	// unseedAgain is how often it is asked whether what a machine joined with is gone: a secret of it is good for somebody else.
	unseedAgain = 3 * time.Second
	// A machine being made is looked at after an eighth of its age, so a slow backend is not flooded.
	launchLookFirst = time.Second
	launchLookMost  = 15 * time.Second
)

// errorBackoff is the wait after provider errors in a row. Claims that failed together do not come back together.
var errorBackoff = policy.Backoff{First: time.Second, Most: time.Minute}

// drainBackoff is the wait after drains of one node that were undone.
var drainBackoff = policy.Backoff{First: 15 * time.Minute, Most: 4 * time.Hour}

// reopenBackoff is how long no pods are evicted from a node whose release was taken back: demand that comes and goes must not
// have it closed, and some of its pods moved, again and again.
var reopenBackoff = policy.Backoff{First: time.Minute, Most: time.Hour}

// relaunchBackoff is the wait before the attempt that follows n attempts.
func relaunchBackoff(n int32) time.Duration { return doubled(relaunchFirst, relaunchMost, n-1) }

func doubled(first, most time.Duration, times int32) time.Duration {
	d := first
	for range times {
		if d >= most/2 {
			return most
		}
		d *= 2
	}
	return d
}

// launchLook is how long after the last look a machine of this age is looked at again.
func launchLook(age time.Duration) time.Duration {
	return min(max(age/8, launchLookFirst), launchLookMost)
}
