package lifecycle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/gate"
)

// Asks says what of a claim asks for an act to the machine of an attempt, or why it does not: the gate reads the claim again after
// the intent was written.
func Asks(c *v1alpha1.NodeClaim, act gate.Act, attempt int32) (asks, not string) {
	st := &c.Status
	in := fmt.Sprintf("claim %s is %s", c.Name, st.State)
	draining := st.State == v1alpha1.ClaimDraining && (c.DeletionTimestamp != nil || c.Spec.Release != nil)
	ok := false
	switch act {
	case gate.Delete:
		ok = st.State == v1alpha1.ClaimReleasing || st.State == v1alpha1.ClaimLaunching && attempt < st.Attempts
	case gate.Stop:
		ok = st.Restart != nil && st.Restart.Step == v1alpha1.RestartStopping
	case gate.DeleteNode:
		launched := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionLaunched)
		ok = st.State == v1alpha1.ClaimReleasing && launched != nil && launched.Reason == ReasonGone
	case gate.Evict:
		ok = draining && (c.DeletionTimestamp != nil || c.Spec.Release.Drain != nil)
	case gate.DeletePod:
		ok = draining && c.Spec.Release != nil && c.Spec.Release.Drain != nil && c.Spec.Release.Drain.Force
	}
	if !ok {
		return "", in
	}
	return in, ""
}

// MachineGone says that a claim has no machine any more, or none yet: that was proven, or a person said so.
func MachineGone(c *v1alpha1.NodeClaim) bool {
	launched := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionLaunched)
	return c.Status.MachineID == "" || c.Status.State == v1alpha1.ClaimFailed || launched != nil && launched.Reason == ReasonGone
}

// ConfirmedGone says that a person's word was taken that a machine of this claim is gone.
func ConfirmedGone(c *v1alpha1.NodeClaim) bool {
	blocked := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReleaseBlocked)
	return blocked != nil && blocked.Reason == reasonConfirmedWord
}
