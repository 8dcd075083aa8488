// Package provider says what Muster asks of a backend that makes machines: six verbs, typed errors, and what each of
// them promises. It knows no backend and takes no decision; the backends live in folders of their own and all pass the
// one suite in providertest.
package provider

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/gate"
)

// ID is a backend's own name of a machine.
type ID string

// State is what a backend says of a machine.
type State string

// The states of a machine.
const (
	// StateReserved means that the ID is chosen and nothing is made. The caller records the ID, so that a crash can lose
	// no machine, and calls Create again with it.
	StateReserved State = "reserved"
	// StatePending means that the machine is there and that something of it is still to be asked for: call Create again.
	StatePending  State = "pending"
	StateCreating State = "creating" // accepted, not yet running
	StateRunning  State = "running"
	StateDeleting State = "deleting" // accepted, not yet gone
	StateFailed   State = "failed"   // the backend gave it up; it may still hold resources
	// StateKept means stopped and kept for another claim of its pool and shape. It has no claim.
	StateKept State = "kept"
)

// Request is the machine wanted. Claim is its identity: two requests with one Claim UID are one machine.
type Request struct {
	Claim    string
	ClaimUID types.UID
	Attempt  int32
	// ID is the one that a StateReserved answer gave for this attempt and that is recorded in the claim; empty before.
	ID    ID
	Pool  string
	Shape string
	// Cluster is who asks: the UID of the namespace kube-system. It is part of the machine's mark.
	Cluster types.UID
	// Keep says that Delete shall stop this machine and keep it for a later claim, where the backend can.
	Keep bool
	// Hosts picks the hosts that may serve it, where the backend powers Host objects; nil for any.
	Hosts *v1alpha1.HostSelector
	// Resources is the machine's capacity.
	Resources corev1.ResourceList
	// Overhead is what of the capacity the node will not offer as allocatable.
	Overhead corev1.ResourceList
	// Proxmox are the pool's own settings for that backend; the others have no use for them.
	Proxmox *v1alpha1.ProxmoxMachine
	// Joined says that the machine's node has registered. It is said only of a machine that was Seeded: Create then takes
	// away what it joined with, and makes nothing. It is called again until the machine is not Seeded any more.
	Joined bool
}

// Machine is what a backend holds with our mark on it.
type Machine struct {
	ID       ID
	Claim    string
	ClaimUID types.UID
	Attempt  int32
	// Cluster is whose machine its mark says it is; empty where the mark is older than that. What is another cluster's, or
	// nobody knows whose, is never removed for lack of a claim.
	Cluster types.UID
	State   State
	// ProviderID and SystemUUID are what the Node of this machine will report; empty while not known.
	ProviderID string
	SystemUUID string
	// NodeName is set when the backend decides the node's name.
	NodeName string
	// Identity is the machine as its backend tells it apart from others at the time of the call.
	Identity v1alpha1.MachineIdentity
	// On says that the backend reads the machine's power as on.
	On bool
	// Twins are other machines of the backend that carry the same mark, by what people call them there; empty when there is none.
	// While there is one, nothing of either is changed.
	Twins string
	// NeverStarted says that the backend never asked for this machine's power for this claim, and that giving it back does not either.
	NeverStarted bool
	// Host, Rack and Zone are where it runs; empty where that is not known.
	Host    string
	Rack    string
	Zone    string
	Created time.Time
	// Seeded says that the machine still has what it joins with, which may be secret. Delete takes it away too.
	Seeded bool
	// Message tells why a machine is in StateFailed.
	Message string
}

// Provider is a backend. All verbs listen to ctx and are safe for concurrent use; a call that ctx ended is ErrUnknown.
type Provider interface {
	// Create asks for a machine and returns before it runs. It may be called again with the same ClaimUID and Attempt
	// and then returns the machine that is there. A backend that chooses IDs answers first with StateReserved, having
	// made nothing. While the claim has a machine of an earlier attempt, or one that is being deleted, it makes nothing
	// and returns ErrBusy; an attempt that a later one has replaced is ErrRefused. ErrNoCapacity, ErrBusy, ErrRefused and
	// ErrMisconfigured mean that this call made nothing; after ErrUnknown the caller looks with Get, or calls again.
	Create(ctx context.Context, r Request) (Machine, error)

	// Get returns the machine of m.ClaimUID, whatever its attempt. m.ID is where the claim has recorded that it is, or
	// empty. It changes nothing and may be called at any time. ErrNotFound means absent after a complete look.
	Get(ctx context.Context, m Machine) (Machine, error)

	// List returns every machine with our mark, whichever cluster it says it belongs to. A list that could not be completed is ErrUnknown, never a short list.
	List(ctx context.Context) ([]Machine, error)

	// Delete gives the machine back, or keeps it if its Request said so, and returns before that is done. It is called
	// again until it answers ErrNotFound: each call does what comes next (stop, prove it, destroy). It verifies that the
	// machine carries our mark and the claim's UID before it touches it, and returns ErrRefused if not. ErrNotFound means
	// that the claim has no machine any more, after a complete look.
	// The proof is spent with the first request that changes anything; without one that covers this machine and attempt the call
	// changes nothing and returns what Spend says. The backend compares the machine's identity with the proof's once more at that
	// request.
	Delete(ctx context.Context, m Machine, p gate.Proof) error

	// Stop has a running machine go off and leaves all else as it is: its disks, its identity, its claim. Where its operating
	// system can be asked, it is asked to shut down first, since the disks are used again; after a time of the backend's own its
	// power is taken away. Stop returns before that is done and is called again until it answers with StatePending, which says
	// that the machine is proven off and that no order to stop is under way any more which might still strike; of one that is
	// off it changes nothing. It does not begin anew with each call, nor with another process: an order that is under way,
	// whoever gave it, is waited for. Create, called with the attempt that the machine has, then starts
	// it again: both together are a restart, and each step of it can be repeated. It verifies what Delete verifies.
	// ErrNotFound as for Delete; ErrBusy means that it is being made or given back; ErrRefused also that these machines can
	// not be switched off from outside. Neither touched it. After ErrUnknown it is called again.
	// It wants a proof as Delete does.
	Stop(ctx context.Context, m Machine, p gate.Proof) (Machine, error)

	// Check tries what the verbs need (reach, credentials, permissions, templates, room) and changes nothing. It may be
	// called at any time and returns when it is done. What is wrong is a Finding; it has no error of its own.
	Check(ctx context.Context) []Finding
}

// PoolChecker is a Provider that can also look at what a pool asks of it.
type PoolChecker interface {
	// CheckPool tries what machines of this pool need beside what Check tries, and changes nothing.
	CheckPool(ctx context.Context, pool *v1alpha1.NodePool) []Finding
}
