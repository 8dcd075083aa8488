package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

// A deletion that only follows from the deletion of the definition asks for nothing in any state, is told once, and is an
// ordinary deletion again when the definition turns out to stand.
func TestAClaimThatIsDeletedWithItsDefinitionKeepsItsMachine(t *testing.T) {
	for _, row := range tableRows() {
		t.Run(string(row.State), func(t *testing.T) {
			s := in(row.State)
			s.deleted()
			s.seen.Held = "CustomResourceDefinition nodeclaims.muster.sh is being deleted"
			r := lifecycle.Step(s.claim, s.seen, s.now)
			require.NoError(t, r.Err)
			require.Len(t, r.Effects, 1)
			told, ok := r.Effects[0].(lifecycle.Event)
			require.True(t, ok, "%v", r.Effects)
			require.Equal(t, corev1.EventTypeWarning, told.Type)
			require.Contains(t, told.Message, s.seen.Held)
			require.Equal(t, row.State, r.Claim.Status.State)
			require.Contains(t, r.Claim.Status.Message, s.seen.Held)
			blocked := meta.FindStatusCondition(r.Claim.Status.Conditions, v1alpha1.ConditionReleaseBlocked)
			require.Equal(t, metav1.ConditionTrue, blocked.Status)
			require.Equal(t, lifecycle.ReasonHeld, blocked.Reason)
			require.Positive(t, r.Next)

			s.claim = r.Claim
			require.Empty(t, lifecycle.Step(s.claim, s.seen, s.now).Effects, "told once")

			s.seen.Held = ""
			r = lifecycle.Step(s.claim, s.seen, s.now)
			require.NoError(t, r.Err)
			require.False(t, meta.IsStatusConditionTrue(r.Claim.Status.Conditions, v1alpha1.ConditionReleaseBlocked))
		})
	}
}

func TestAClaimThatIsNotDeletedIsNotHeld(t *testing.T) {
	s := in(v1alpha1.ClaimDraining)
	s.seen.Held = "the API server does not answer"
	s.pods(1)
	held := lifecycle.Step(s.claim, s.seen, s.now)
	s.seen.Held = ""
	require.Equal(t, lifecycle.Step(s.claim, s.seen, s.now), held)
}

// What was proven gone before has no machine to keep: the claim may end with its definition.
func TestAClaimThatWasReleasedEndsWithItsDefinition(t *testing.T) {
	s := in(v1alpha1.ClaimReleasing)
	s.condition(v1alpha1.ConditionReleased, metav1.ConditionTrue, lifecycle.ReasonReleased)
	s.deleted()
	s.answer(lifecycle.VerbDelete, provider.ErrNotFound)
	s.seen.Held = "CustomResourceDefinition nodeclaims.muster.sh is being deleted"
	r := lifecycle.Step(s.claim, s.seen, s.now)
	require.NoError(t, r.Err)
	require.Equal(t, []lifecycle.Effect{lifecycle.RemoveFinalizer{Name: s.claim.Name, UID: s.claim.UID}}, r.Effects)
}
