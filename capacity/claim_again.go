package capacity

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// The reasons of the condition Released of a machine that did not come up.
const (
	ReasonTimeout  = "RegistrationTimeout" // no ready Node in time
	ReasonFailed   = "MachineFailed"       // its provider says so
	ReasonVanished = "MachineVanished"     // gone before its Node was ready
)

// Relaunches says that a claim's machine is given back because it did not come up, and that another one is launched for the
// claim when it is gone. Its pods wait for that one. If others were bought for them, one need would have two machines, and a
// pool whose machines never join would grow claim by claim, past every back-off. A provider that does not get rid of the
// machine holds up nobody: after a while the claim is not launched again (lifecycle sees to it).
func Relaunches(c *v1alpha1.NodeClaim) bool {
	return fellShort(c) && c.Status.Attempts < c.Spec.MaxAttempts
}

// GivesUp says that the last machine a claim may have is given back because it did not come up.
func GivesUp(c *v1alpha1.NodeClaim) bool {
	return fellShort(c) && c.Status.Attempts >= c.Spec.MaxAttempts
}

func fellShort(c *v1alpha1.NodeClaim) bool {
	if c.Status.State != v1alpha1.ClaimReleasing || c.DeletionTimestamp != nil || c.Spec.Release != nil {
		return false
	}
	return CameToNothing(ReleasedFor(c))
}

// CameToNothing says whether a reason of the condition Released is that the machine did not come up.
func CameToNothing(reason string) bool {
	return reason == ReasonTimeout || reason == ReasonFailed || reason == ReasonVanished
}

// ReleasedFor is the reason of the condition Released of a claim; empty where it has none.
func ReleasedFor(c *v1alpha1.NodeClaim) string {
	if released := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReleased); released != nil {
		return released.Reason
	}
	return ""
}
