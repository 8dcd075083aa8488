package stories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/controlplane"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// loseKubelet ends a node's kubelet: kwok leaves it alone, and its condition is what the node lifecycle controller makes of that, whose
// taint follows.
func loseKubelet(s *stage.Stage, name string) {
	s.ChangeNode(name, func(n *corev1.Node) { n.Labels[controlplane.OwnKubelet] = "none" })
	s.ChangeNodeStatus(name, func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
	})
}

// TestASilentNodeIsReplacedAndItsPodRunsOnTheSpareOne: one node loses its kubelet for good. Its pod is evicted and made again at
// once on the node that the pool keeps ready; the machine goes, and the pool has a spare node again.
func TestASilentNodeIsReplacedAndItsPodRunsOnTheSpareOne(t *testing.T) {
	const pods, most = 2, 5
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=500ms", "--boot-max=1s", "--delete-time=300ms")
	s.Apply(stage.Pool("watched", most, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.Spare = new(intstr.FromInt32(1))
		p.Spec.Repair = &v1alpha1.Repair{After: metav1.Duration{Duration: time.Minute}}
		p.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: 5 * time.Second}}
	}))
	s.Place(stage.ReplicaOptions{})
	replicas(s, "web", pods, stage.Resources("cpu", "1200m"))
	before := s.AwaitClaims(soon, "watched", pods+1, v1alpha1.ClaimReady)
	s.Await(soon, "all pods to run", func() error { _, err := runningOn(s, pods); return err })
	nodes, err := runningOn(s, pods)
	require.NoError(t, err)
	spare := slices.IndexFunc(before, func(c v1alpha1.NodeClaim) bool { return !slices.Contains(nodes, c.Status.NodeName) })
	require.GreaterOrEqual(t, spare, 0)
	sick := slices.IndexFunc(before, func(c v1alpha1.NodeClaim) bool { return c.Status.NodeName == nodes[0] })

	loseKubelet(s, nodes[0])
	took := s.Await(4*time.Minute, "the silent node to be replaced", func() error {
		claims, err := s.Claims("watched")
		if err != nil {
			return err
		}
		for _, c := range claims {
			if c.UID == before[sick].UID || c.Status.State != v1alpha1.ClaimReady {
				return fmt.Errorf("%s is %s: %s", c.Name, c.Status.State, c.Status.Message)
			}
		}
		if len(claims) != pods+1 {
			return fmt.Errorf("there are %d claims", len(claims))
		}
		_, err = runningOn(s, pods)
		return err
	})
	t.Logf("replaced after %s", took.Round(time.Second))
	after, err := runningOn(s, pods)
	require.NoError(t, err)
	require.Contains(t, after, before[spare].Status.NodeName, "the pod did not wait for a machine")
	require.Contains(t, after, nodes[1], "the other pod stayed")
	kept := map[types.UID]bool{}
	for _, c := range s.MustClaims("watched") {
		kept[c.UID] = true
	}
	for i, c := range before {
		require.Equal(t, i != sick, kept[c.UID], "only the silent node went")
	}
	s.WholeAndPaired()
}

// runningOn names the nodes of the pods, when so many are there and run.
func runningOn(s *stage.Stage, pods int) (nodes []string, err error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	if len(all) != pods {
		return nil, fmt.Errorf("there are %d pods of %d", len(all), pods)
	}
	for _, p := range all {
		if err := s.Running(p); err != nil {
			return nil, err
		}
		nodes = append(nodes, p.Spec.NodeName)
	}
	slices.Sort(nodes)
	return nodes, nil
}
