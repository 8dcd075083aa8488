// Package objects keeps Host objects at an API server, for package host.
package objects

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
)

// API is the Host objects at an API server. Its lists come from the server and not from a cache. Callers that come while a
// list is under way share the next one, so a thousand claims cost no thousand lists at a time.
type API struct {
	// Client must not read from a cache.
	Client client.Client

	mu   sync.Mutex
	next *list // not begun yet; nil: none is waited for
	busy bool  // one is under way
}

// list is one answer that several callers wait for. Nobody may change the objects in it.
type list struct {
	done    chan struct{}
	hosts   []*v1alpha1.Host
	err     error
	waiting int
	cancel  context.CancelFunc // nil: not begun
}

var _ host.Objects = (*API)(nil)

// List returns every Host as of a list that was begun after this call.
func (a *API) List(ctx context.Context) ([]*v1alpha1.Host, error) {
	a.mu.Lock()
	if a.next == nil {
		a.next = &list{done: make(chan struct{})}
	}
	mine := a.next
	mine.waiting++
	if !a.busy {
		a.busy = true
		go a.serve(context.WithoutCancel(ctx))
	}
	a.mu.Unlock()
	select {
	case <-mine.done:
		return copies(mine.hosts), mine.err
	case <-ctx.Done():
		a.leave(mine)
		return nil, ctx.Err()
	}
}

// leave ends a list that nobody waits for any more, so that one that hangs holds nobody else up.
func (a *API) leave(l *list) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l.waiting--
	switch {
	case l.waiting > 0:
	case l.cancel != nil:
		l.cancel()
	case l == a.next:
		a.next = nil
	}
}

// serve lists for those who wait, until nobody does.
func (a *API) serve(ctx context.Context) {
	for {
		a.mu.Lock()
		l := a.next
		a.next = nil
		a.busy = l != nil
		if l == nil {
			a.mu.Unlock()
			return
		}
		timed, cancel := context.WithTimeout(ctx, listTimeout)
		l.cancel = cancel
		a.mu.Unlock()
		l.hosts, l.err = a.list(timed)
		cancel()
		close(l.done)
	}
}

// listTimeout bounds one list: its callers may have given up, and others wait for the next.
const listTimeout = 30 * time.Second

func (a *API) list(ctx context.Context) ([]*v1alpha1.Host, error) {
	var all v1alpha1.HostList
	if err := a.Client.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list hosts: %w", err)
	}
	hosts := make([]*v1alpha1.Host, len(all.Items))
	for i := range all.Items {
		hosts[i] = &all.Items[i]
	}
	return hosts, nil
}

func copies(hosts []*v1alpha1.Host) []*v1alpha1.Host {
	out := make([]*v1alpha1.Host, len(hosts))
	for i, h := range hosts {
		out[i] = h.DeepCopy()
	}
	return out
}

// UpdateStatus writes the status of the version that was read.
func (a *API) UpdateStatus(ctx context.Context, h *v1alpha1.Host) (*v1alpha1.Host, error) {
	h = h.DeepCopy()
	err := a.Client.Status().Update(ctx, h)
	if apierrors.IsConflict(err) {
		return nil, fmt.Errorf("host %s: %w", h.Name, host.ErrConflict)
	}
	if err != nil {
		return nil, fmt.Errorf("update the status of host %s: %w", h.Name, err)
	}
	return h, nil
}

// SetFinalizers writes the finalizers of the version that was read. A host that is gone is a conflict, too.
func (a *API) SetFinalizers(ctx context.Context, h *v1alpha1.Host, finalizers []string) (*v1alpha1.Host, error) {
	next := h.DeepCopy()
	next.Finalizers = finalizers
	err := a.Client.Patch(ctx, next, client.MergeFromWithOptions(h, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("host %s: %w", h.Name, host.ErrConflict)
	}
	if err != nil {
		return nil, fmt.Errorf("write the finalizers of host %s: %w", h.Name, err)
	}
	return next, nil
}
