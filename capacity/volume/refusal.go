package volume

// Cause names why a pod's volumes keep it off a node.
type Cause uint8

// The causes, in the order in which the scheduler's plugins look for them. None lets the pod in.
const (
	None             Cause = iota
	ClaimMissing           // a PersistentVolumeClaim does not exist
	ClaimUnmade            // the claim of a generic ephemeral volume was not made yet
	ClaimLost              // its PersistentVolume is gone
	ClaimDeleting          // it is being deleted
	ClaimForeign           // it has the name of an ephemeral volume's claim and belongs to somebody else
	ClaimUnbound           // it is not bound, and its class does not wait for a pod
	VolumeMissing          // it is bound to a PersistentVolume that does not exist
	Unreadable             // the scheduler itself fails on it
	DiskConflict           // a pod on the node has the same disk
	InUse                  // ReadWriteOncePod, and another pod has it
	TooManyVolumes         // the node's driver attaches no more
	NodeAffinity           // the node does not reach the volume
	NothingToBind          // no volume to bind to, and none can be made that the node would reach
	NotEnoughStorage       // the driver says that it has no room for it
	Zone                   // the volume is in another zone
)

// Refusal is a cause, and what it is about. The zero Refusal means that nothing stands in the way.
type Refusal struct {
	Cause Cause
	// Detail names the claim, the volume or the driver.
	Detail string
}

// Resolvable says whether pods leaving the node could change the answer.
func (r Refusal) Resolvable() bool {
	return r.Cause == DiskConflict || r.Cause == InUse || r.Cause == TooManyVolumes
}

func refuse(cause Cause, detail string) Refusal { return Refusal{Cause: cause, Detail: detail} }
