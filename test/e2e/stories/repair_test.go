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

// reviveKubelet is a machine that booted: its kubelet reports again.
func reviveKubelet(s *stage.Stage, name string) {
	s.ChangeNode(name, func(n *corev1.Node) { delete(n.Labels, controlplane.OwnKubelet) })
	s.ChangeNodeStatus(name, func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			healthy := corev1.ConditionFalse
			if n.Status.Conditions[i].Type == corev1.NodeReady {
				healthy = corev1.ConditionTrue
			}
			n.Status.Conditions[i].Status = healthy
		}
	})
}

// restarts counts how often a claim's machine was stopped and then started. Each of the two may have been asked for more than once.
func restarts(s *stage.Stage, claim types.UID) (n int) {
	calls, err := s.Sim.Calls(s.Ctx)
	require.NoError(s.T, err)
	stopped := false
	for _, c := range calls {
		switch {
		case c.ClaimUID != claim:
		case c.Verb == "stop":
			stopped = true
		case c.Verb == "create" && stopped:
			stopped = false
			n++
		}
	}
	return n
}

// TestASilentNodeIsRestartedAndOnlyThenReplaced: Muster is killed when the restart is on record. It is carried out once; the node
// that comes back is the same, and so is its pod, which tolerates the silence. When the node falls silent again soon, it is replaced.
func TestASilentNodeIsRestartedAndOnlyThenReplaced(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=500ms", "--boot-max=1s", "--delete-time=300ms")
	s.Apply(stage.Pool("watched", 3, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.Repair = &v1alpha1.Repair{After: metav1.Duration{Duration: time.Minute}, Strategy: v1alpha1.RepairByRestart}
	}))
	r := s.Place(stage.ReplicaOptions{})
	replicas(s, "web", 1, stage.Resources("cpu", "1200m"))
	claim := s.AwaitClaims(soon, "watched", 1, v1alpha1.ClaimReady)[0]
	s.Await(soon, "the pod to run", func() error { _, err := runningOn(s, 1); return err })

	loseKubelet(s, claim.Status.NodeName)
	took := s.Await(2*time.Minute, "a restart to be on record", restartIs(s, claim, v1alpha1.RestartStopping, v1alpha1.RestartStarting, v1alpha1.RestartBooting))
	r.Crash()
	t.Logf("asked for after %s, and Muster was killed", took.Round(time.Second))
	took = s.Await(time.Minute, "the machine to run again", restartIs(s, claim, v1alpha1.RestartBooting))
	reviveKubelet(s, claim.Status.NodeName)
	took += s.Await(time.Minute, "the node to be known as ready", restartIs(s, claim, v1alpha1.RestartRecovered))
	t.Logf("restarted after %s", took.Round(time.Second))
	require.Equal(t, 1, restarts(s, claim.UID))
	s.Await(soon, "the pod to run there", func() error { _, err := runningOn(s, 1); return err })

	loseKubelet(s, claim.Status.NodeName)
	s.Await(4*time.Minute, "the node to be replaced", func() error {
		claims, err := s.Claims("watched")
		if err != nil {
			return err
		}
		for _, c := range claims {
			if c.UID == claim.UID || c.Status.State != v1alpha1.ClaimReady {
				return fmt.Errorf("%s is %s: %s", c.Name, c.Status.State, c.Status.Message)
			}
		}
		_, err = runningOn(s, 1)
		return err
	})
	require.Equal(t, 1, restarts(s, claim.UID), "it was not restarted again")
	s.WholeAndPaired()
}

// restartIs says whether the restart of a claim's machine came to one of these steps.
func restartIs(s *stage.Stage, claim v1alpha1.NodeClaim, steps ...v1alpha1.RestartStep) func() error {
	return func() error {
		claims, err := s.Claims("watched")
		if err != nil {
			return err
		}
		for _, c := range claims {
			switch {
			case c.UID != claim.UID || c.Spec.Release != nil:
				return stage.Never("%s is there, release %v", c.Name, c.Spec.Release)
			case c.Status.Restart == nil || !slices.Contains(steps, c.Status.Restart.Step):
				return fmt.Errorf("the restart is %+v: %s", c.Status.Restart, c.Status.Message)
			}
		}
		return nil
	}
}

// TestASilentNodeIsReplacedAndItsPodRunsOnTheSpareOne: one node loses its kubelet for good. Its pod is evicted and made again at
// once on the node that the pool keeps ready; the machine goes, and the pool has a spare node again.
func TestASilentNodeIsReplacedAndItsPodRunsOnTheSpareOne(t *testing.T) {
	const pods, most = 2, 5
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=500ms", "--boot-max=1s", "--delete-time=300ms")
	s.Apply(stage.Pool("watched", most, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.Spare = new(intstr.FromInt32(1))
		p.Spec.Repair = &v1alpha1.Repair{After: metav1.Duration{Duration: time.Minute}, Strategy: v1alpha1.RepairByReplacement}
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
