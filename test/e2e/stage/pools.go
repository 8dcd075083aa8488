package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// SimProvider is the Provider object of the stage's simulated backend.
const SimProvider = "sim"

// Shape is a machine size.
func Shape(name string, pairs ...string) v1alpha1.Shape {
	return v1alpha1.Shape{Name: name, Resources: Resources(pairs...)}
}

// Pool is a pool of simulated machines that never goes down by itself; edits come last. It is not created yet.
func Pool(name string, most int32, shapes []v1alpha1.Shape, edits ...func(*v1alpha1.NodePool)) *v1alpha1.NodePool {
	p := &v1alpha1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.NodePoolSpec{
			Provider:  SimProvider,
			Template:  v1alpha1.NodeTemplate{Shapes: shapes},
			Limits:    v1alpha1.Limits{MaxNodes: most},
			ScaleUp:   v1alpha1.ScaleUp{RegistrationTimeout: &metav1.Duration{Duration: 2 * time.Minute}},
			ScaleDown: v1alpha1.ScaleDown{Disabled: true},
		},
	}
	for _, edit := range edits {
		edit(p)
	}
	return p
}

// PoolLabel puts a label on the pool's nodes.
func PoolLabel(key, value string) func(*v1alpha1.NodePool) {
	return func(p *v1alpha1.NodePool) { p.Spec.Template.Labels = map[string]string{key: value} }
}

// PoolTaint puts a NoSchedule taint on the pool's nodes.
func PoolTaint(key, value string) func(*v1alpha1.NodePool) {
	return func(p *v1alpha1.NodePool) {
		p.Spec.Template.Taints = []corev1.Taint{{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}}
	}
}

// Backend starts the simulated machines, quick ones unless the flags say otherwise, and their Provider object, and
// begins to watch them.
func (s *Stage) Backend(flags ...string) {
	s.T.Helper()
	quick := []string{"--boot-min=1s", "--boot-median=2s", "--boot-max=4s", "--seed=1"}
	backend, err := s.Kit.StartSim(s.Logs, append(quick, flags...)...)
	require.NoError(s.T, err)
	s.serves(backend.Service, nil)
	s.Sim = backend
	s.Watch(backend)
	require.NoError(s.T, s.Plane.Objects.Create(s.Ctx, &v1alpha1.Provider{
		ObjectMeta: metav1.ObjectMeta{Name: SimProvider},
		Spec:       v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim, Endpoint: backend.Service.URL},
	}))
}

// Machinery is a backend as the witness sees it: every machine with our mark, from its own books.
type Machinery interface {
	List(ctx context.Context) ([]witness.Machine, error)
}

// Watch begins to watch the machines of a backend.
func (s *Stage) Watch(m Machinery) {
	s.machinery, s.machines = m, witness.WatchMachines(s.Ctx, m)
}

// Apply creates pools; from then on their maximums are watched.
func (s *Stage) Apply(pools ...*v1alpha1.NodePool) {
	s.T.Helper()
	for _, p := range pools {
		s.machines.Allow(p.Name, int(p.Spec.Limits.MaxNodes))
		require.NoError(s.T, s.Plane.Objects.Create(s.Ctx, p.DeepCopy()))
	}
}

// Machines is every machine that ever existed in this story.
func (s *Stage) Machines() []witness.Machine { return s.machines.Seen() }

// Claims lists the claims of a pool, or of all pools if the name is empty.
func (s *Stage) Claims(pool string) ([]v1alpha1.NodeClaim, error) {
	var list, chosen v1alpha1.NodeClaimList
	if err := s.Plane.Objects.List(s.Ctx, &list); err != nil {
		return nil, err
	}
	for _, c := range list.Items {
		if pool == "" || c.Spec.Pool == pool {
			chosen.Items = append(chosen.Items, c)
		}
	}
	return chosen.Items, nil
}

// MustClaims is Claims where an error ends the story.
func (s *Stage) MustClaims(pool string) []v1alpha1.NodeClaim {
	s.T.Helper()
	claims, err := s.Claims(pool)
	require.NoError(s.T, err)
	return claims
}

// AwaitClaims waits until a pool has exactly so many claims and all of them are in the state.
func (s *Stage) AwaitClaims(within time.Duration, pool string, n int, state v1alpha1.ClaimState) []v1alpha1.NodeClaim {
	s.T.Helper()
	var claims []v1alpha1.NodeClaim
	s.Await(within, fmt.Sprintf("%d claims of %q to be %s", n, pool, state), func() (err error) {
		if claims, err = s.Claims(pool); err != nil {
			return err
		}
		if len(claims) != n {
			return fmt.Errorf("there are %d claims", len(claims))
		}
		for _, c := range claims {
			if c.Status.State != state {
				return fmt.Errorf("claim %s is %s: %s", c.Name, c.Status.State, c.Status.Message)
			}
		}
		return nil
	})
	return claims
}

// WholeAndPaired asserts the end of a scale-up: every claim Ready, each with one machine and one node of its own, no
// machine without a claim.
func (s *Stage) WholeAndPaired() {
	s.T.Helper()
	s.Await(2*time.Minute, "claims, machines and nodes to be pairs", func() error {
		claims, err := s.Claims("")
		if err != nil {
			return err
		}
		machines, err := s.machinery.List(s.Ctx)
		if err != nil {
			return err
		}
		if len(machines) != len(claims) {
			return fmt.Errorf("%d machines for %d claims", len(machines), len(claims))
		}
		held := map[types.UID]string{}
		for _, m := range machines {
			held[m.ClaimUID] = m.ProviderID
		}
		for _, c := range claims {
			if err := s.paired(c, held); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Stage) paired(c v1alpha1.NodeClaim, held map[types.UID]string) error {
	if c.Status.State != v1alpha1.ClaimReady {
		return fmt.Errorf("claim %s is %s: %s", c.Name, c.Status.State, c.Status.Message)
	}
	if id, ok := held[c.UID]; !ok || id != c.Status.ProviderID {
		return fmt.Errorf("claim %s says its machine is %q, the backend has %q for it", c.Name, c.Status.ProviderID, id)
	}
	var node corev1.Node
	if err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: c.Status.NodeName}, &node); err != nil {
		return err
	}
	if node.Spec.ProviderID != c.Status.ProviderID || node.Labels[v1alpha1.ClaimLabel] != c.Name {
		return fmt.Errorf("node %s has provider id %q and claim %q, wanted %q and %q", node.Name,
			node.Spec.ProviderID, node.Labels[v1alpha1.ClaimLabel], c.Status.ProviderID, c.Name)
	}
	return nil
}

// ChangeClaim reads a claim, changes it and writes it back, again if somebody else was faster: an operator's hand.
func (s *Stage) ChangeClaim(name string, change func(*v1alpha1.NodeClaim)) {
	s.T.Helper()
	require.NoError(s.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var c v1alpha1.NodeClaim
		if err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: name}, &c); err != nil {
			return err
		}
		change(&c)
		return s.Plane.Objects.Update(s.Ctx, &c)
	}))
}

// Pool reads a pool again.
func (s *Stage) Pool(name string) *v1alpha1.NodePool {
	s.T.Helper()
	var p v1alpha1.NodePool
	require.NoError(s.T, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: name}, &p))
	return &p
}

// ChangePool reads a pool, changes it and writes it back: an operator's hand.
func (s *Stage) ChangePool(name string, change func(*v1alpha1.NodePool)) {
	s.T.Helper()
	require.NoError(s.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var p v1alpha1.NodePool
		if err := s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: name}, &p); err != nil {
			return err
		}
		change(&p)
		return s.Plane.Objects.Update(s.Ctx, &p)
	}))
}
