// Package provider says what Muster asks of a backend that makes machines: four verbs, typed errors, and what each of
// them promises. It knows no backend and takes no decision; the backends live in folders of their own and all pass the
// one suite in providertest.
package provider

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Errors to act on; a backend wraps them with what it was doing. Whoever reads another error treats it as ErrUnknown.
var (
	// ErrNotFound means absent, after a complete look.
	ErrNotFound = errors.New("machine not found")
	// ErrNoCapacity means the backend refused to make the machine and made nothing.
	ErrNoCapacity = errors.New("no capacity")
	// ErrBusy means nothing was done because of other work; the same call may be made again later.
	ErrBusy = errors.New("busy")
	// ErrRefused means the backend will never do this as asked.
	ErrRefused = errors.New("refused")
	// ErrUnknown means that the call may or may not have been carried out, or that a look was not complete.
	ErrUnknown = errors.New("outcome unknown")
)

// ID is a backend's own name of a machine.
type ID string

// State is what a backend says of a machine.
type State string

// The states of a machine.
const (
	StateCreating State = "creating" // accepted, not yet running
	StateRunning  State = "running"
	StateDeleting State = "deleting" // accepted, not yet gone
	StateFailed   State = "failed"   // the backend gave it up; it may still hold resources
)

// Request is the machine wanted. Claim is its identity: two requests with one Claim UID are one machine.
type Request struct {
	Claim    string
	ClaimUID types.UID
	Attempt  int32
	Pool     string
	Shape    string
	// Resources is the machine's capacity.
	Resources corev1.ResourceList
	// Overhead is what of the capacity the node will not offer as allocatable.
	Overhead corev1.ResourceList
}

// Machine is what a backend holds with our mark on it.
type Machine struct {
	ID       ID
	Claim    string
	ClaimUID types.UID
	Attempt  int32
	State    State
	// ProviderID and SystemUUID are what the Node of this machine will report; empty while not known.
	ProviderID string
	SystemUUID string
	// NodeName is set when the backend decides the node's name.
	NodeName string
	Host     string
	Zone     string
	Created  time.Time
	// Message tells why a machine is in StateFailed.
	Message string
}

// Provider is a backend. All verbs listen to ctx and are safe for concurrent use.
type Provider interface {
	// Create asks for a machine and returns before it runs. It may be called again with the same ClaimUID and Attempt
	// and then returns the machine that is there. While the claim has a machine of an earlier attempt, or one that is
	// being deleted, it makes nothing and returns ErrBusy; an attempt that a later one has replaced is ErrRefused.
	// ErrNoCapacity and ErrRefused mean that this call made nothing; after ErrUnknown the caller looks with Get, or
	// calls again.
	Create(ctx context.Context, r Request) (Machine, error)

	// Get returns the machine of a claim, whatever its attempt. ErrNotFound means absent after a complete look.
	Get(ctx context.Context, claim types.UID) (Machine, error)

	// List returns every machine with our mark. A list that could not be completed is ErrUnknown, never a short list.
	List(ctx context.Context) ([]Machine, error)

	// Delete gives the machine back and returns before it is gone; it may be called again. It verifies that the
	// machine carries our mark and the claim's UID before it touches it, and returns ErrRefused if not.
	// ErrNotFound means it is gone, after a complete look.
	Delete(ctx context.Context, m Machine) error
}
