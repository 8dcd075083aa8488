package host

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Objects are the Host objects at the API server.
type Objects interface {
	// List returns every Host, as it is at the time of the call or later, never out of a cache that may lag.
	List(ctx context.Context) ([]*v1alpha1.Host, error)
	// UpdateStatus writes the status of the version that was read, or fails with ErrConflict. After any other error it may
	// have been written.
	UpdateStatus(ctx context.Context, h *v1alpha1.Host) (*v1alpha1.Host, error)
	// SetFinalizers writes the finalizers of the version that was read, as UpdateStatus does a status. A host that is being
	// deleted is gone with its last one; its last version is returned.
	SetFinalizers(ctx context.Context, h *v1alpha1.Host, finalizers []string) (*v1alpha1.Host, error)
}

// ErrConflict means that an object changed since it was read and that nothing was written.
var ErrConflict = errors.New("the host changed meanwhile")

// Claims tells how far a claim is. The answer may lag; it only ever changes what a host is called.
type Claims interface {
	ClaimOf(name string, uid types.UID) *ClaimSight
	// Kept says whether a claim is gone and its machine was handed over to the user.
	Kept(name string, uid types.UID) bool
}

// Switches gives the switch of a host. It is asked before every call, so that changed credentials and addresses count.
type Switches interface {
	Switch(ctx context.Context, h *v1alpha1.Host) (Switch, error)
}

// Recorder records events on hosts; it never fails and never waits.
type Recorder interface {
	Record(h *v1alpha1.Host, e Event)
}
