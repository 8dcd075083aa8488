package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// Each release that is taken back keeps the node from the next drain for longer, up to an hour; less a quarter at most.
func TestAReopenedNodeIsLeftAloneForAWhile(t *testing.T) {
	s := in(draining)
	for n, most := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute,
		time.Hour, time.Hour} {
		s.claim.Status.State, s.claim.Spec.Release = v1alpha1.ClaimDraining, nil
		s.condition(v1alpha1.ConditionDraining, "True", lifecycle.ReasonPods)
		r := lifecycle.Step(s.claim, s.seen, s.now)
		require.Equal(t, v1alpha1.ClaimReady, r.Claim.Status.State)
		require.EqualValues(t, n+1, r.Claim.Status.DrainReopened)
		left := r.Claim.Status.DrainAgain.Sub(s.now)
		require.LessOrEqual(t, left, most)
		require.GreaterOrEqual(t, left, most*3/4-time.Microsecond)
		s.claim = r.Claim
	}
}
