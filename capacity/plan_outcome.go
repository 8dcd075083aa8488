package capacity

import "strings"

// Fate is what a plan does for a pod.
type Fate string

// The fates.
const (
	FitsNow  Fate = "FitsNow"  // there is room on an open node
	Waits    Fate = "Waits"    // a machine in flight will carry it, or an open node once other pods are placed
	Ordered  Fate = "Ordered"  // a machine is bought for it
	Unserved Fate = "Unserved" // nothing can be done
)

// Outcome is a pod's fate and the reason.
type Outcome struct {
	Fate Fate
	// Node is where the pod fits now, or will without a machine of its own.
	Node string
	// Claim is the machine it waits for, or that is bought for it; empty where it waits for other pods.
	Claim string
	// Reason says why it is unserved: what stands in the way where the least is missing.
	Reason Reason
	// Pools says of an unserved pod why each pool does not take it, by pool name.
	Pools []PoolReason

	// Sought says that room that is there was looked for, though the effort ended before the plan did.
	Sought bool
}

// PoolReason is why a pool does not take a pod.
type PoolReason struct {
	Pool   string
	Reason Reason
}

// String is the outcome in one line, for people.
func (o Outcome) String() string {
	switch o.Fate {
	case FitsNow:
		return "fits on node " + o.Node
	case Waits:
		if o.Claim == "" {
			return "fits on node " + o.Node + " once other pods are placed"
		}
		return "waits for machine " + o.Claim
	case Ordered:
		return "machine " + o.Claim + " is ordered"
	}
	if len(o.Pools) == 0 {
		return o.Reason.String()
	}
	parts := make([]string, 0, len(o.Pools))
	for _, p := range o.Pools {
		parts = append(parts, p.Pool+": "+p.Reason.OfPool())
	}
	return "no pool can take it: " + strings.Join(parts, "; ")
}
