package shadow

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
)

// paper is the cluster as the planner writes to it: claims that exist in memory only. It knows no API server, so that
// nothing can reach one; what the planner would have changed elsewhere is taken note of, or is nothing.
type paper struct {
	live *capacity.Live

	mu      sync.Mutex
	now     time.Time // of the tick under way
	claims  map[string]*v1alpha1.NodeClaim
	told    map[types.UID]corev1.PodCondition
	version int
}

var _ control.Kube = (*paper)(nil)

func newPaper(live *capacity.Live) *paper {
	return &paper{live: live, claims: map[string]*v1alpha1.NodeClaim{}, told: map[types.UID]corev1.PodCondition{}}
}

var claimResource = schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: "nodeclaims"}

// CreateClaim keeps a claim unless its name is taken, here or in the cluster.
func (p *paper) CreateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims[c.Name] != nil || p.live.Claim(c.Name) != nil {
		return nil, apierrors.NewAlreadyExists(claimResource, c.Name)
	}
	c = c.DeepCopy()
	p.version++
	c.UID, c.CreationTimestamp = types.UID(fmt.Sprintf("shadow-%d", p.version)), metav1.NewTime(p.now)
	return p.store(c), nil
}

// store is called with the lock held.
func (p *paper) store(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	p.version++
	c.ResourceVersion = fmt.Sprint(p.version)
	p.claims[c.Name] = c
	return c
}

// UpdateClaim keeps a claim's new version. Of a claim that the cluster has, it is the next plan alone that sees it.
func (p *paper) UpdateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c = c.DeepCopy()
	if own := p.claims[c.Name]; own == nil || own.UID != c.UID {
		return c, nil
	}
	return p.store(c), nil
}

// UpdateClaimStatus is UpdateClaim.
func (p *paper) UpdateClaimStatus(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	return p.UpdateClaim(ctx, c)
}

// DeleteClaim drops a claim of its own.
func (p *paper) DeleteClaim(_ context.Context, name string, uid types.UID) error {
	p.mu.Lock()
	if own := p.claims[name]; own != nil && own.UID == uid {
		delete(p.claims, name)
	}
	p.mu.Unlock()
	p.live.ForgetClaim(name, uid)
	return nil
}

// Claims are those of its own, by name.
func (p *paper) Claims(context.Context) ([]*v1alpha1.NodeClaim, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*v1alpha1.NodeClaim, 0, len(p.claims))
	for _, name := range slices.Sorted(maps.Keys(p.claims)) {
		list = append(list, p.claims[name])
	}
	return list, nil
}

// SetPodCondition takes note of what the pod would have been told.
func (p *paper) SetPodCondition(_ context.Context, ref v1alpha1.PodReference, c corev1.PodCondition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told[ref.UID] = c
	return nil
}

// UpdatePoolStatus has the next plan know what this one learned of the pool.
func (p *paper) UpdatePoolStatus(_ context.Context, pool *v1alpha1.NodePool) error {
	p.live.SetPool(pool.DeepCopy())
	return nil
}

// errUnread is what is not to be read here: nothing that a shadow does depends on it.
var errUnread = fmt.Errorf("a shadow reads from its watches only")

// Pod is not read.
func (p *paper) Pod(context.Context, v1alpha1.PodReference) (*corev1.Pod, error) {
	return nil, errUnread
}

// PodsOn is not read.
func (p *paper) PodsOn(context.Context, string) ([]corev1.Pod, error) { return nil, errUnread }

// Freeze stops nothing: a shadow does nothing that could be stopped, and shows what would be done otherwise.
func (p *paper) Freeze(context.Context) (gate.Freeze, error) { return gate.Freeze{}, nil }

// What follows would change how pods are scheduled, or be seen by others: it is not done.

// UpdateNode does nothing.
func (p *paper) UpdateNode(context.Context, *corev1.Node, *corev1.Node) error { return nil }

// DeleteNode does nothing.
func (p *paper) DeleteNode(context.Context, string, types.UID, gate.Proof) error { return nil }

// Nodes are not read.
func (p *paper) Nodes(context.Context) ([]*corev1.Node, error) { return nil, errUnread }

// Evict does nothing.
func (p *paper) Evict(context.Context, v1alpha1.PodReference, gate.Proof) error { return nil }

// DeletePod does nothing.
func (p *paper) DeletePod(context.Context, v1alpha1.PodReference, gate.Proof) error { return nil }

// Nominate does nothing.
func (p *paper) Nominate(context.Context, v1alpha1.PodReference, string) error { return nil }

// SetPoolFinalizers does nothing.
func (p *paper) SetPoolFinalizers(_ context.Context, pool *v1alpha1.NodePool, _ []string) (*v1alpha1.NodePool, error) {
	return pool, nil
}

// SetProviderFinalizers does nothing.
func (p *paper) SetProviderFinalizers(_ context.Context, pr *v1alpha1.Provider, _ []string) (*v1alpha1.Provider, error) {
	return pr, nil
}

// UpdateProviderStatus does nothing.
func (p *paper) UpdateProviderStatus(context.Context, *v1alpha1.Provider) error { return nil }

// Event does nothing.
func (p *paper) Event(control.Subject, bool, string, string) {}
