package controltest

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
)

// server is an API server with one claim, its node and their provider. Verbs that no story needs are left to the nil interface:
// calling one is a failure.
type server struct {
	control.Kube
	fate    *Fate
	version int
	claim   *v1alpha1.NodeClaim
	node    *corev1.Node
	backend *v1alpha1.Provider
	events  []string
	now     func() time.Time
}

var errStale = errors.New("the object has been modified")

// UpdateClaim keeps a claim as a new version, as the API server does: times lose what their types do not keep.
func (s *server) UpdateClaim(_ context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	var stored *v1alpha1.NodeClaim
	err := s.fate.Do(func() error {
		if s.claim == nil || c.ResourceVersion != s.claim.ResourceVersion {
			return apierrors.NewConflict(schema.GroupResource{Resource: "nodeclaims"}, c.Name, errStale)
		}
		s.version++
		c = c.DeepCopy()
		c.ResourceVersion = strconv.Itoa(s.version)
		text, err := json.Marshal(c)
		if err != nil {
			return err
		}
		stored = &v1alpha1.NodeClaim{}
		if err := json.Unmarshal(text, stored); err != nil {
			return err
		}
		s.claim = stored
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stored.DeepCopy(), nil
}

// UpdateClaimStatus writes a claim like UpdateClaim.
func (s *server) UpdateClaimStatus(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	return s.UpdateClaim(ctx, c)
}

// UpdateNode keeps what is said of the node.
func (s *server) UpdateNode(_ context.Context, _, to *corev1.Node) error {
	return s.fate.Do(func() error { s.node = to.DeepCopy(); return nil })
}

// DeleteNode and DeleteClaim are not what a restart comes to: its end finds them gone.
func (s *server) DeleteNode(_ context.Context, name string, _ types.UID, p gate.Proof) error {
	if err := p.SpendNode(name, s.now()); err != nil {
		return err
	}
	return s.fate.Do(func() error { s.node = nil; return nil })
}

// DeleteClaim notes that the claim is to go.
func (s *server) DeleteClaim(context.Context, string, types.UID) error {
	return s.fate.Do(func() error {
		s.version++
		s.claim = s.claim.DeepCopy()
		s.claim.ResourceVersion, s.claim.DeletionTimestamp = strconv.Itoa(s.version), &metav1.Time{Time: s.now()}
		return nil
	})
}

// UpdateProviderStatus keeps what is said of the provider.
func (s *server) UpdateProviderStatus(_ context.Context, p *v1alpha1.Provider) error {
	return s.fate.Do(func() error { s.backend = p.DeepCopy(); return nil })
}

// Nodes is the node.
func (s *server) Nodes(context.Context) ([]*corev1.Node, error) {
	if s.node == nil {
		return nil, nil
	}
	return []*corev1.Node{s.node.DeepCopy()}, nil
}

// SetPoolFinalizers keeps nothing: there is no pool.
func (s *server) SetPoolFinalizers(_ context.Context, p *v1alpha1.NodePool, _ []string) (*v1alpha1.NodePool, error) {
	return p, nil
}

// SetProviderFinalizers keeps the finalizers.
func (s *server) SetProviderFinalizers(_ context.Context, p *v1alpha1.Provider, finalizers []string) (*v1alpha1.Provider, error) {
	p = p.DeepCopy()
	p.Finalizers = finalizers
	return p, s.fate.Do(func() error { s.backend = p.DeepCopy(); return nil })
}

// PodsOn finds no pod.
func (s *server) PodsOn(context.Context, string) ([]corev1.Pod, error) { return nil, nil }

// Claims is the claim.
func (s *server) Claims(context.Context) ([]*v1alpha1.NodeClaim, error) {
	return []*v1alpha1.NodeClaim{s.claim.DeepCopy()}, nil
}

// Freeze stops nothing.
func (s *server) Freeze(context.Context) (gate.Freeze, error) { return gate.Freeze{}, nil }

// Event keeps the reason.
func (s *server) Event(_ control.Subject, _ bool, reason, _ string) {
	s.events = append(s.events, reason)
}

// Candidates is the node, where it carries one of these.
func (s *server) Candidates(name, providerID, systemUUID string) []*corev1.Node {
	n := s.node
	if n == nil || n.Name != name && (providerID == "" || n.Spec.ProviderID != providerID) &&
		(systemUUID == "" || n.Status.NodeInfo.SystemUUID != systemUUID) {
		return nil
	}
	return []*corev1.Node{n.DeepCopy()}
}

const claimUID = types.UID("5d5c3f6e-0000-4000-8000-000000000001")
