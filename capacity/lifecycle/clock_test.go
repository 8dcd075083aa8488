package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

// A Node was deleted after it had been NotReady for long, and its machine was given back at once: the wait was counted from when the Node
// stopped being ready.
func TestM07ANodeThatWasSilentForLongGetsItsWaitingTimeWhenItIsDeleted(t *testing.T) {
	s := in(isReady)
	setReady(s.seen.Node, false)
	s.claim = lifecycle.Step(s.claim, s.seen, s.now).Claim
	gone := s.now.Add(time.Hour)
	step := func(at time.Time) v1alpha1.ClaimState {
		s.now = at
		s.machine(provider.StateRunning)
		r := lifecycle.Step(s.claim, s.seen, at)
		require.NoError(t, r.Err)
		s.claim = r.Claim
		return r.Claim.Status.State
	}
	s.noNode()
	require.Equal(t, isReady, step(gone), "it is missed a moment ago")
	require.Equal(t, isReady, step(gone.Add(5*time.Minute-time.Second)))
	require.Equal(t, releasing, step(gone.Add(5*time.Minute)))
}

// A Node that comes back, and is missed again, gets its time again.
func TestM07EachTimeANodeIsMissedItIsAwaitedAnew(t *testing.T) {
	s := in(isReady)
	node := s.seen.Node
	for range 3 {
		s.noNode()
		s.machine(provider.StateRunning)
		r := lifecycle.Step(s.claim, s.seen, s.now)
		s.claim, s.now = r.Claim, s.now.Add(5*time.Minute-time.Second)
		s.machine(provider.StateRunning)
		r = lifecycle.Step(s.claim, s.seen, s.now)
		require.Equal(t, isReady, r.Claim.Status.State)
		s.claim, s.seen.Node = r.Claim, node
		r = lifecycle.Step(s.claim, s.seen, s.now)
		require.Equal(t, isReady, r.Claim.Status.State)
		s.claim = r.Claim
	}
}

// The clock went back an hour between two steps, and a wait of a second became an hour.
func TestM19AWaitNeverTakesLongerThanItsLength(t *testing.T) {
	for name, state := range map[string]v1alpha1.ClaimState{"after an error": launching, "while a node settles": draining} {
		t.Run(name, func(t *testing.T) {
			s := in(state)
			length := time.Second
			if state == launching {
				s.answer(lifecycle.VerbCreate, provider.ErrUnknown)
			} else {
				length = 2 * time.Second
				s.condition(v1alpha1.ConditionDraining, metav1.ConditionTrue, lifecycle.ReasonClosing)
			}
			r := lifecycle.Step(s.claim, s.seen, s.now)
			require.Equal(t, length, r.Next)
			s.seen.Outcome = nil
			back := s.now.Add(-time.Hour)
			r = lifecycle.Step(r.Claim, s.seen, back)
			require.LessOrEqual(t, r.Next, length)
			require.True(t, r.Claim.Status.NextAttempt.Time.Equal(back.Add(length)), "%s", r.Claim.Status.NextAttempt)
			again := lifecycle.Step(r.Claim, s.seen, back.Add(length/2))
			require.LessOrEqual(t, again.Next, length/2, "and it is not begun again")
		})
	}
}

// Of a wait from before an upgrade it is not known when it began.
func TestM19AWaitWithoutABeginningIsBounded(t *testing.T) {
	s := in(launching)
	s.claim.Status.Errors, s.claim.Status.NextAttempt = 1, ago(s.now, -10*365*24*time.Hour)
	r := lifecycle.Step(s.claim, s.seen, s.now)
	require.LessOrEqual(t, r.Claim.Status.NextAttempt.Sub(s.now), lifecycle.FailedKept)
	require.LessOrEqual(t, r.Next, lifecycle.FailedKept)
}
