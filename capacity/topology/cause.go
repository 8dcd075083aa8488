package topology

// Cause is which rule keeps a pod off a node, in the order in which kube-scheduler judges them.
type Cause int8

// The causes.
const (
	None              Cause = iota
	SpreadKey               // the node lacks a topology key of a spread constraint
	Spread                  // the skew would be too large
	Affinity                // no pod of the required company is in the node's domain
	AntiAffinity            // a pod that this one avoids is there
	ExistingAvoidance       // a pod is there that avoids this one
)

// Finding is why a pod must not go to a node; its zero value says that it may.
type Finding struct {
	Cause Cause
	// Key is the topology key of the rule.
	Key string
}
