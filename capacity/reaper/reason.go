package reaper

// Reason says what Decide thinks of a node of ours, in CamelCase; stable.
type Reason string

// The reasons to release a node.
const (
	Idle      Reason = "Idle"      // empty for the pool's idle time
	Underused Reason = "Underused" // its few pods fit elsewhere
	Drifted   Reason = "Drifted"   // its pool's template would make another machine now
	Expired   Reason = "Expired"   // its machine is older than its pool lets one grow

	Consolidated Reason = "Consolidated" // its pods, and those of others, run for less elsewhere

	PoolDeleted Reason = "PoolDeleted" // its pool is being deleted
)

// The reasons to spare one. Those of package capacity that keep a pod where it is (capacity.Stay) are reasons, too.
const (
	Waiting     Reason = "Waiting"     // empty or under-used, but not for long enough
	Occupied    Reason = "Occupied"    // pods of its own are there
	Held        Reason = "Held"        // a pod is on its way there
	Reserved    Reason = "Reserved"    // room is kept for the pods it was ordered for
	MinNodes    Reason = "MinNodes"    // the pool would fall below its minimum
	Spare       Reason = "Spare"       // the pool keeps so many nodes ready without pods
	Budget      Reason = "Budget"      // as many of the pool's nodes are on their way out as may be
	Disabled    Reason = "Disabled"    // the pool's nodes stay
	Frozen      Reason = "Frozen"      // people have stopped the pool's releases
	NoPool      Reason = "NoPool"      // its pool is gone: nobody says what may happen to it
	NotReady    Reason = "NotReady"    // the claim is not in state Ready
	Protected   Reason = "Protected"   // annotated with muster.sh/do-not-release, or as other autoscalers have it
	Outage      Reason = "Outage"      // a large part of the cluster is not ready: nobody knows what will be needed
	Kept        Reason = "Kept"        // its pool is being deleted, and its node becomes a plain node
	NoProvider  Reason = "NoProvider"  // its provider is missing or does not answer
	InDemand    Reason = "InDemand"    // pods wait that could use it
	Unconfirmed Reason = "Unconfirmed" // the claim is ready, its node is not in the view

	BackingOff Reason = "BackingOff" // its last drain was undone
	Growing    Reason = "Growing"    // machines are on their way, or are about to be bought: the wrong time to move pods
	PodBudget  Reason = "PodBudget"  // a PodDisruptionBudget keeps one of its pods
	NoRoom     Reason = "NoRoom"     // one of its pods fits nowhere else
	Drawn      Reason = "Drawn"      // its pods fit elsewhere, and one of them would rather go to a node without pods
	Headroom   Reason = "Headroom"   // its pods fit elsewhere, and too little would be left free
	Receiving  Reason = "Receiving"  // pods of another node that goes move there
	BoughtBack Reason = "BoughtBack" // the planner would buy a machine for its pods
	Replacing  Reason = "Replacing"  // a machine is on its way that replaces it; or it waits for pods of a node that it replaces
	InTurn     Reason = "InTurn"     // another node is replaced first
	NotReached Reason = "NotReached" // the decision ran out of effort before it came to the node
)
