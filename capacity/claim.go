package capacity

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/provider/identity"
)

// Claim is a NodeClaim in a View, with the node it is or will be.
type Claim struct {
	Object *v1alpha1.NodeClaim
	// Node is the place the claim offers: the registered Node where there is one, else what the claim promises.
	Node *Node
	// Reported says that Node.Allocatable is what the kubelet said, not what was promised.
	Reported bool
	// Proven says that the Node is this claim's machine beyond its name, and the only one that may be: what it offers says something
	// about other machines of its shape.
	Proven bool
	// Took are the kinds of pods (PodsKey) out of spec.orderedFor that were seen bound to the node, also those that are
	// gone again.
	Took []string
}

// InFlight says whether the claim is on its way to a Ready node.
func (c *Claim) InFlight() bool { return InFlight(c.Object) }

// InFlight says whether a claim is on its way to a Ready node: its room counts in a plan, and no pod may go there yet.
func InFlight(c *v1alpha1.NodeClaim) bool {
	if c.DeletionTimestamp != nil || c.Spec.Release != nil {
		return false
	}
	switch c.Status.State {
	case "", v1alpha1.ClaimPending, v1alpha1.ClaimLaunching, v1alpha1.ClaimJoining, v1alpha1.ClaimStarting:
		return true
	}
	return Relaunches(c)
}

// Closed says whether a claim is to have no node that takes pods any more. One that drains although nothing asks for it any
// more is about to open again.
func Closed(c *v1alpha1.NodeClaim) bool {
	switch c.Status.State {
	case v1alpha1.ClaimReleasing:
		return !Relaunches(c)
	case v1alpha1.ClaimFailed:
		return true
	}
	return c.DeletionTimestamp != nil || c.Spec.Release != nil
}

// SlotName is the name of a pool's claim number slot. The API server refuses a second object of one name, which makes
// maxNodes a limit that no two Musters can pass together.
func SlotName(pool string, slot int) string { return fmt.Sprintf("%s-%03d", pool, slot) }

// NewClaim writes the intent to have one machine of a shape.
func NewClaim(pool *v1alpha1.NodePool, shape v1alpha1.Shape, slot int) *v1alpha1.NodeClaim {
	t := &pool.Spec.Template
	labels := maps.Clone(t.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, shape.Labels)
	claim := &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:       SlotName(pool.Name, slot),
			Labels:     map[string]string{v1alpha1.PoolLabel: pool.Name, v1alpha1.ShapeLabel: shape.Name},
			Finalizers: []string{v1alpha1.ClaimFinalizer},
		},
		Spec: v1alpha1.NodeClaimSpec{
			Pool: pool.Name, Provider: pool.Spec.Provider, Shape: shape.Name,
			Resources: WithPods(shape.Resources), Overhead: t.Overhead.DeepCopy(),
			Labels: labels, Annotations: maps.Clone(t.Annotations),
			Taints: t.Taints, StartupTaints: t.StartupTaints,
			Hosts: t.Hosts.DeepCopy(), MaxAttempts: pool.Spec.ScaleUp.MaxAttempts,
			Keep:    pool.Spec.ScaleDown.Release == v1alpha1.ReleaseStop,
			Proxmox: t.Proxmox.DeepCopy(),
		},
	}
	if d := pool.Spec.ScaleUp.RegistrationTimeout; d != nil {
		claim.Spec.RegistrationTimeout = *d
	}
	return claim
}

// DefaultPods is how many pods a node takes when its shape does not say: the kubelet's own default.
const DefaultPods = 110

// WithPods is a list of amounts with a number of pods: DefaultPods where it says none.
func WithPods(list corev1.ResourceList) corev1.ResourceList {
	out := list.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	if _, ok := out[corev1.ResourcePods]; !ok {
		out[corev1.ResourcePods] = *resource.NewQuantity(DefaultPods, resource.DecimalSI)
	}
	return out
}

// NodeOfClaim is the node that a claim promises: the same value for a claim in flight and, made from a claim that was
// only imagined, for a pool's blueprint. Room for the DaemonSets that will match is set aside.
func NodeOfClaim(c *v1alpha1.NodeClaim, daemons []*Daemon) *Node {
	n := &Node{
		Name: c.Name, Pool: c.Spec.Pool, Claim: c.Name, Stage: Starting,
		Object: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: identity.NodeName(c), Labels: promisedLabels(c)},
			Spec:       corev1.NodeSpec{Taints: c.Spec.Taints},
		},
		Allocatable: Promised(c),
	}
	if len(c.Spec.Allocatable) > 0 {
		n.Allocatable = amount.Of(c.Spec.Allocatable)
	}
	n.Daemons = DaemonRoom(daemons, n)
	return n
}

// promisedLabels are those a node of the claim is sure to carry. A templated value is known only once the machine is
// there, so it promises nothing.
func promisedLabels(c *v1alpha1.NodeClaim) map[string]string {
	labels := map[string]string{
		corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64", corev1.LabelHostname: identity.NodeName(c),
	}
	for k, v := range c.Spec.Labels {
		if strings.Contains(v, "{{") {
			delete(labels, k)
			continue
		}
		labels[k] = v
	}
	labels[v1alpha1.PoolLabel] = c.Spec.Pool
	labels[v1alpha1.ClaimLabel] = c.Name
	labels[v1alpha1.ShapeLabel] = c.Spec.Shape
	return labels
}

// Promised is what a claim's machine is to offer by its template.
func Promised(c *v1alpha1.NodeClaim) amount.Resources {
	return amount.Of(c.Spec.Resources).Minus(amount.Of(c.Spec.Overhead))
}

// Coming says whether a claim's room will open: it is in flight, or it is called Ready while the view of its node is
// older than that.
func (c *Claim) Coming() bool {
	return !Closed(c.Object) && c.Node.Stage == Starting
}
