package replay

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
)

// kube is the api as the loops write to it: versions are compared, finalizers keep what is deleted, a write that changes
// nothing is no change, and errors are the API server's own.
type kube struct {
	*api
	evict  func(*corev1.Pod)
	record func(about control.Subject, warning bool, reason, message string)
}

var _ control.Kube = (*kube)(nil)

var errVersion = errors.New("the object has been modified; please apply your changes to the latest version and try again")

func resourceOf(kind string) schema.GroupResource {
	switch kind {
	case "pods", "nodes":
		return schema.GroupResource{Resource: kind}
	}
	return schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: kind}
}

func notFound(kind, name string) error { return apierrors.NewNotFound(resourceOf(kind), name) }

func conflict(kind, name string) error {
	return apierrors.NewConflict(resourceOf(kind), name, errVersion)
}

// CreateClaim stores a new claim unless its name is taken.
func (k *kube) CreateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	if k.claims[c.Name] != nil {
		return nil, apierrors.NewAlreadyExists(resourceOf("nodeclaims"), c.Name)
	}
	c = c.DeepCopy()
	c.Status = v1alpha1.NodeClaimStatus{}
	k.stamp(c)
	k.claims[c.Name] = c
	k.publish(change{fresh: c})
	return c, nil
}

// UpdateClaim stores metadata and spec of the version that was read.
func (k *kube) UpdateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	old, err := k.claimRead(c)
	if err != nil {
		return nil, err
	}
	fresh := old.DeepCopy()
	fresh.Labels, fresh.Annotations, fresh.Finalizers = c.Labels, c.Annotations, c.Finalizers
	if !equality.Semantic.DeepEqual(old.Spec, c.Spec) {
		c.Spec.DeepCopyInto(&fresh.Spec)
		fresh.Generation++
	}
	return k.storeClaim(old, fresh), nil
}

// UpdateClaimStatus stores the status of the version that was read.
func (k *kube) UpdateClaimStatus(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	old, err := k.claimRead(c)
	if err != nil {
		return nil, err
	}
	fresh := old.DeepCopy()
	c.Status.DeepCopyInto(&fresh.Status)
	for i := range fresh.Status.Conditions {
		at := &fresh.Status.Conditions[i].LastTransitionTime
		*at = metav1.NewTime(at.Truncate(time.Second))
	}
	return k.storeClaim(old, fresh), nil
}

func (k *kube) claimRead(c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	old := k.claims[c.Name]
	switch {
	case old == nil:
		return nil, notFound("nodeclaims", c.Name)
	case old.UID != c.UID || old.ResourceVersion != c.ResourceVersion:
		return nil, conflict("nodeclaims", c.Name)
	}
	return old, nil
}

func (k *kube) storeClaim(old, fresh *v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	if equality.Semantic.DeepEqual(old, fresh) {
		return old
	}
	k.renew(fresh)
	if fresh.DeletionTimestamp != nil && len(fresh.Finalizers) == 0 {
		delete(k.claims, fresh.Name)
		k.publish(change{old: fresh})
		return fresh
	}
	k.claims[fresh.Name] = fresh
	k.publish(change{old: old, fresh: fresh})
	return fresh
}

// DeleteClaim marks a claim as deleted, or removes it when no finalizer keeps it.
func (k *kube) DeleteClaim(_ context.Context, name string, uid types.UID) error {
	old := k.claims[name]
	switch {
	case old == nil:
		return notFound("nodeclaims", name)
	case old.UID != uid:
		return conflict("nodeclaims", name)
	case old.DeletionTimestamp != nil:
		return nil
	}
	fresh := old.DeepCopy()
	now := k.now()
	fresh.DeletionTimestamp = &now
	k.storeClaim(old, fresh)
	return nil
}

// Claims returns every claim, by name.
func (k *kube) Claims(context.Context) ([]*v1alpha1.NodeClaim, error) {
	claims := make([]*v1alpha1.NodeClaim, 0, len(k.claims))
	for _, name := range slices.Sorted(maps.Keys(k.claims)) {
		claims = append(claims, k.claims[name])
	}
	return claims, nil
}

// Nodes reads every Node, by name.
func (k *kube) Nodes(context.Context) ([]*corev1.Node, error) {
	nodes := make([]*corev1.Node, 0, len(k.nodes))
	for _, name := range slices.Sorted(maps.Keys(k.nodes)) {
		nodes = append(nodes, k.nodes[name])
	}
	return nodes, nil
}

// UpdateNode stores metadata and spec of a Node on the version that was read.
func (k *kube) UpdateNode(_ context.Context, from, to *corev1.Node) error {
	old := k.nodes[from.Name]
	switch {
	case old == nil:
		return notFound("nodes", from.Name)
	case old.UID != from.UID || old.ResourceVersion != from.ResourceVersion:
		return conflict("nodes", from.Name)
	case equality.Semantic.DeepEqual(from, to):
		return nil
	}
	k.changeNode(from.Name, func(n *corev1.Node) {
		n.Labels, n.Annotations = to.Labels, to.Annotations
		to.Spec.DeepCopyInto(&n.Spec)
	})
	return nil
}

// DeleteNode removes the Node with this UID.
func (k *kube) DeleteNode(_ context.Context, name string, uid types.UID, p gate.Proof) error {
	if err := p.SpendNode(name, k.agenda.now); err != nil {
		return err
	}
	old := k.nodes[name]
	switch {
	case old == nil:
		return notFound("nodes", name)
	case old.UID != uid:
		return conflict("nodes", name)
	}
	k.removeNode(name)
	return nil
}

// Freeze stops nothing: no person takes part in a replay.
func (k *kube) Freeze(context.Context) (gate.Freeze, error) { return gate.Freeze{}, nil }

// SetPoolFinalizers stores the finalizers of the version that was read.
func (k *kube) SetPoolFinalizers(_ context.Context, p *v1alpha1.NodePool, finalizers []string) (*v1alpha1.NodePool, error) {
	old := k.pools[p.Name]
	switch {
	case old == nil:
		return nil, notFound("nodepools", p.Name)
	case old.ResourceVersion != p.ResourceVersion:
		return nil, conflict("nodepools", p.Name)
	}
	fresh := old.DeepCopy()
	fresh.Finalizers = finalizers
	k.renew(fresh)
	k.pools[p.Name] = fresh
	k.publish(change{old: old, fresh: fresh})
	return fresh, nil
}

// SetProviderFinalizers stores the finalizers of the version that was read.
func (k *kube) SetProviderFinalizers(_ context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	old := k.providers[p.Name]
	switch {
	case old == nil:
		return nil, notFound("providers", p.Name)
	case old.ResourceVersion != p.ResourceVersion:
		return nil, conflict("providers", p.Name)
	}
	fresh := old.DeepCopy()
	fresh.Finalizers = finalizers
	k.renew(fresh)
	k.providers[p.Name] = fresh
	k.publish(change{old: old, fresh: fresh})
	return fresh, nil
}

// UpdatePoolStatus stores the status of the version that was read.
func (k *kube) UpdatePoolStatus(_ context.Context, p *v1alpha1.NodePool) error {
	old := k.pools[p.Name]
	switch {
	case old == nil:
		return notFound("nodepools", p.Name)
	case old.ResourceVersion != p.ResourceVersion:
		return conflict("nodepools", p.Name)
	}
	fresh := old.DeepCopy()
	p.Status.DeepCopyInto(&fresh.Status)
	if equality.Semantic.DeepEqual(old, fresh) {
		return nil
	}
	k.renew(fresh)
	k.pools[p.Name] = fresh
	k.publish(change{old: old, fresh: fresh})
	return nil
}

// UpdateProviderStatus stores the status of the version that was read.
func (k *kube) UpdateProviderStatus(_ context.Context, p *v1alpha1.Provider) error {
	old := k.providers[p.Name]
	switch {
	case old == nil:
		return notFound("providers", p.Name)
	case old.ResourceVersion != p.ResourceVersion:
		return conflict("providers", p.Name)
	}
	fresh := old.DeepCopy()
	p.Status.DeepCopyInto(&fresh.Status)
	if equality.Semantic.DeepEqual(old, fresh) {
		return nil
	}
	k.renew(fresh)
	k.providers[p.Name] = fresh
	k.publish(change{old: old, fresh: fresh})
	return nil
}

// Event hands an event on.
func (k *kube) Event(about control.Subject, warning bool, reason, message string) {
	k.record(about, warning, reason, message)
}
