// Package control holds the loops: each observes, has a pure function decide, performs and records. What they change in
// Kubernetes goes through the interface Kube, and time through their arguments, so that `muster serve` (an API server,
// the wall clock) and `muster replay` (memory, virtual time) run the very same loops. Nothing is decided here.
package control

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// Kube is what the loops write to Kubernetes, and what they read past every cache. Errors are the API server's own
// (k8s.io/apimachinery/pkg/api/errors): already exists, conflict, not found, too many requests.
type Kube interface {
	CreateClaim(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error)
	// UpdateClaim and UpdateClaimStatus write the version that was read, or fail with a conflict.
	UpdateClaim(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error)
	UpdateClaimStatus(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error)
	DeleteClaim(ctx context.Context, name string, uid types.UID) error

	// UpdateNode writes the difference between two versions of a Node, or fails with a conflict.
	UpdateNode(ctx context.Context, from, to *corev1.Node) error
	// DeleteNode deletes the Node with this UID; the proof is spent. Evict and DeletePod want one that covers the pod.
	DeleteNode(ctx context.Context, name string, uid types.UID, p gate.Proof) error
	// Nodes reads every Node past every cache.
	Nodes(ctx context.Context) ([]*corev1.Node, error)

	Pod(ctx context.Context, ref v1alpha1.PodReference) (*corev1.Pod, error)
	PodsOn(ctx context.Context, node string) ([]corev1.Pod, error)
	Evict(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error
	// DeletePod deletes this very pod, past its disruption budgets, with its own grace period.
	DeletePod(ctx context.Context, ref v1alpha1.PodReference, p gate.Proof) error
	SetPodCondition(ctx context.Context, ref v1alpha1.PodReference, c corev1.PodCondition) error
	// Nominate writes status.nominatedNodeName of this very pod.
	Nominate(ctx context.Context, ref v1alpha1.PodReference, node string) error

	// Claims reads every claim past every cache: what is not there does not exist.
	Claims(ctx context.Context) ([]*v1alpha1.NodeClaim, error)

	// Freeze reads what people have stopped past every cache. With an error, it is a freeze of everything; an object that is not there
	// stops nothing.
	Freeze(ctx context.Context) (gate.Freeze, error)

	// SetPoolFinalizers and SetProviderFinalizers write the finalizers of the version that was read, or fail with a conflict.
	SetPoolFinalizers(ctx context.Context, p *v1alpha1.NodePool, finalizers []string) (*v1alpha1.NodePool, error)
	SetProviderFinalizers(ctx context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error)
	UpdatePoolStatus(ctx context.Context, p *v1alpha1.NodePool) error
	UpdateProviderStatus(ctx context.Context, p *v1alpha1.Provider) error

	// Event records what happened; it never fails and never waits.
	Event(about Subject, warning bool, reason, message string)
}

// Subject is what an event is about.
type Subject struct {
	Kind string // Pod, Node, NodeClaim, NodePool or Provider
	v1alpha1.PodReference
}

// NodeFinder finds the Nodes that may be a claim's.
type NodeFinder interface {
	// Candidates returns the Nodes that carry one of these; an empty argument finds nothing.
	Candidates(name, providerID, systemUUID string) []*corev1.Node
}

// Backends gives access to the providers by name. A provider that is missing or cannot be used is provider.ErrUnknown.
type Backends interface {
	Backend(name string) (provider.Provider, error)
}

// minWait keeps a loop from spinning on a decision that asks for no time at all.
const minWait = 10 * time.Millisecond

func podRef(p lifecycle.PodOnNode) v1alpha1.PodReference {
	return v1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}
