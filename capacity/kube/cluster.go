// Package kube is the API server's side of the core: informers feed capacity.Live, Cluster performs what the loops in
// capacity/control ask for, and Lead says whether this process may act. It decides nothing.
package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
)

// Scheme knows the built-in types and Muster's own.
func Scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register the built-in types: %w", err)
	}
	if err := v1alpha1.AddToScheme(s); err != nil {
		return nil, fmt.Errorf("register Muster's types: %w", err)
	}
	return s, nil
}

// Cluster performs the loops' writes, and their reads that must not come out of a cache. It is safe for concurrent use.
type Cluster struct {
	client    client.Client
	events    *Events
	namespace string
	// Now is the clock by which proofs are good, that of the gate that makes them; time.Now, unless it is set.
	Now func() time.Time
}

var _ control.Kube = (*Cluster)(nil)

// NewCluster makes a Cluster for a Muster of this namespace; events may be nil, then none are recorded.
func NewCluster(config *rest.Config, scheme *runtime.Scheme, events *Events, namespace string) (*Cluster, error) {
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return &Cluster{client: c, events: events, namespace: namespace, Now: time.Now}, nil
}

// CreateClaim writes a new claim.
func (k *Cluster) CreateClaim(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	c = c.DeepCopy()
	return c, k.client.Create(ctx, c)
}

// UpdateClaim writes metadata and spec of the version that was read.
func (k *Cluster) UpdateClaim(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	c = c.DeepCopy()
	return c, k.client.Update(ctx, c)
}

// UpdateClaimStatus writes the status of the version that was read.
func (k *Cluster) UpdateClaimStatus(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	c = c.DeepCopy()
	return c, k.client.Status().Update(ctx, c)
}

// DeleteClaim deletes the claim with this UID.
func (k *Cluster) DeleteClaim(ctx context.Context, name string, uid types.UID) error {
	c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return k.client.Delete(ctx, c, client.Preconditions{UID: &uid})
}

// Claims reads every claim from the API server.
func (k *Cluster) Claims(ctx context.Context) ([]*v1alpha1.NodeClaim, error) {
	var list v1alpha1.NodeClaimList
	if err := k.client.List(ctx, &list); err != nil {
		return nil, err
	}
	claims := make([]*v1alpha1.NodeClaim, 0, len(list.Items))
	for i := range list.Items {
		claims = append(claims, &list.Items[i])
	}
	return claims, nil
}

// UpdateNode writes the difference between two versions of a Node, on the first of them only.
func (k *Cluster) UpdateNode(ctx context.Context, from, to *corev1.Node) error {
	patch := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
	return k.client.Patch(ctx, to.DeepCopy(), patch)
}

// DeleteNode deletes the Node with this UID, and spends the proof that it may.
func (k *Cluster) DeleteNode(ctx context.Context, name string, uid types.UID, p gate.Proof) error {
	if err := p.SpendNode(name, k.Now()); err != nil {
		return err
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return k.client.Delete(ctx, n, client.Preconditions{UID: &uid})
}

// Nodes reads every Node from the API server.
func (k *Cluster) Nodes(ctx context.Context) ([]*corev1.Node, error) {
	var list corev1.NodeList
	if err := k.client.List(ctx, &list); err != nil {
		return nil, err
	}
	nodes := make([]*corev1.Node, 0, len(list.Items))
	for i := range list.Items {
		nodes = append(nodes, &list.Items[i])
	}
	return nodes, nil
}

// Pod reads a pod past every cache.
func (k *Cluster) Pod(ctx context.Context, ref v1alpha1.PodReference) (*corev1.Pod, error) {
	var p corev1.Pod
	err := k.client.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, &p)
	return &p, err
}

// PodsOn reads the pods that are bound to a node, past every cache.
func (k *Cluster) PodsOn(ctx context.Context, node string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := k.client.List(ctx, &list, client.MatchingFields{"spec.nodeName": node})
	return list.Items, err
}

// Evict asks the Eviction API to take this very pod.
func (k *Cluster) Evict(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, k.Now(), gate.Evict, gate.Preempt); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	return k.client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{
		ObjectMeta:    pod.ObjectMeta,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ref.UID}},
	})
}

// DeletePod deletes this very pod, with its own grace period.
func (k *Cluster) DeletePod(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, k.Now(), gate.DeletePod); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	return k.client.Delete(ctx, pod, client.Preconditions{UID: &ref.UID})
}

// SetPodCondition sets one condition of this very pod, by its type, and leaves the others alone.
func (k *Cluster) SetPodCondition(ctx context.Context, ref v1alpha1.PodReference, c corev1.PodCondition) error {
	return k.patchPodStatus(ctx, ref, map[string]any{"conditions": []corev1.PodCondition{c}})
}

// Nominate writes status.nominatedNodeName of this very pod.
func (k *Cluster) Nominate(ctx context.Context, ref v1alpha1.PodReference, node string) error {
	return k.patchPodStatus(ctx, ref, map[string]any{"nominatedNodeName": node})
}

// patchPodStatus merges into the status of the pod with this UID; of another one it is a conflict.
func (k *Cluster) patchPodStatus(ctx context.Context, ref v1alpha1.PodReference, status map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": ref.UID}, "status": status})
	if err != nil {
		return fmt.Errorf("encode a status: %w", err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	return k.client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch))
}

// SetPoolFinalizers writes the finalizers of a pool, on the version that was read only.
func (k *Cluster) SetPoolFinalizers(ctx context.Context, p *v1alpha1.NodePool, finalizers []string) (*v1alpha1.NodePool, error) {
	next := p.DeepCopy()
	next.Finalizers = finalizers
	return next, k.client.Patch(ctx, next, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{}))
}

// SetProviderFinalizers writes the finalizers of a provider, on the version that was read only.
func (k *Cluster) SetProviderFinalizers(ctx context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	next := p.DeepCopy()
	next.Finalizers = finalizers
	return next, k.client.Patch(ctx, next, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{}))
}

// UpdatePoolStatus writes a pool's status.
func (k *Cluster) UpdatePoolStatus(ctx context.Context, p *v1alpha1.NodePool) error {
	return k.client.Status().Update(ctx, p.DeepCopy())
}

// UpdateProviderStatus writes a provider's status.
func (k *Cluster) UpdateProviderStatus(ctx context.Context, p *v1alpha1.Provider) error {
	return k.client.Status().Update(ctx, p.DeepCopy())
}

// Event records what happened to an object.
func (k *Cluster) Event(about control.Subject, warning bool, reason, message string) {
	if k.events != nil {
		k.events.record(about, warning, reason, message)
	}
}
