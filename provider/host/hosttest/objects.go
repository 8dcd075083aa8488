package hosttest

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
)

// Objects holds Host objects as an API server does: copies in, copies out, one version each.
type Objects struct {
	mu      sync.Mutex
	hosts   map[string]*v1alpha1.Host
	version int
	broken  error // of the next call
	late    bool  // it comes after the write
}

var _ host.Objects = (*Objects)(nil)

// NewObjects holds these hosts.
func NewObjects(hosts ...*v1alpha1.Host) *Objects {
	o := &Objects{hosts: map[string]*v1alpha1.Host{}}
	for _, h := range hosts {
		o.Put(h)
	}
	return o
}

// Put creates or replaces a host as an operator would; its status stays unless it had none.
func (o *Objects) Put(h *v1alpha1.Host) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(h)
}

func (o *Objects) put(h *v1alpha1.Host) *v1alpha1.Host {
	o.version++
	h = h.DeepCopy()
	h.ResourceVersion = strconv.Itoa(o.version)
	o.hosts[h.Name] = h
	return h.DeepCopy()
}

// Get returns a host, nil when there is none of this name.
func (o *Objects) Get(name string) *v1alpha1.Host {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.hosts[name].DeepCopy()
}

// Remove deletes a host at once.
func (o *Objects) Remove(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.hosts, name)
}

// Break has the next call fail with this error; a late one fails after it wrote.
func (o *Objects) Break(err error, late bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.broken, o.late = err, late
}

// fail takes the error of this call.
func (o *Objects) fail() error {
	err := o.broken
	o.broken = nil
	return err
}

// List returns all hosts by name.
func (o *Objects) List(ctx context.Context) ([]*v1alpha1.Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.late {
		if err := o.fail(); err != nil {
			return nil, err
		}
	}
	all := make([]*v1alpha1.Host, 0, len(o.hosts))
	for _, h := range o.hosts {
		all = append(all, h.DeepCopy())
	}
	slices.SortFunc(all, func(a, b *v1alpha1.Host) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// UpdateStatus writes a status over the version it was read at.
func (o *Objects) UpdateStatus(ctx context.Context, h *v1alpha1.Host) (*v1alpha1.Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.fail()
	if err != nil && !o.late {
		return nil, err
	}
	old := o.hosts[h.Name]
	if old == nil || old.ResourceVersion != h.ResourceVersion {
		return nil, host.ErrConflict
	}
	next := old.DeepCopy()
	next.Status = *h.Status.DeepCopy()
	written := o.put(next)
	if err != nil {
		return nil, err
	}
	return written, nil
}

// SetFinalizers writes finalizers over the version they were read at. The host is gone with the last one when it is being deleted.
func (o *Objects) SetFinalizers(ctx context.Context, h *v1alpha1.Host, finalizers []string) (*v1alpha1.Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.fail()
	if err != nil && !o.late {
		return nil, err
	}
	old := o.hosts[h.Name]
	if old == nil || old.UID != h.UID || old.ResourceVersion != h.ResourceVersion {
		return nil, host.ErrConflict
	}
	next := old.DeepCopy()
	next.Finalizers = slices.Clone(finalizers)
	written := o.put(next)
	if next.DeletionTimestamp != nil && len(finalizers) == 0 {
		delete(o.hosts, h.Name)
	}
	if err != nil {
		return nil, err
	}
	return written, nil
}

// Delete deletes a host as an operator would: one with finalizers stays until the last of them is off.
func (o *Objects) Delete(name string, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.hosts[name]
	switch {
	case h == nil || h.DeletionTimestamp != nil:
	case len(h.Finalizers) == 0:
		delete(o.hosts, name)
	default:
		h = h.DeepCopy()
		h.DeletionTimestamp = &metav1.Time{Time: at}
		o.put(h)
	}
}
