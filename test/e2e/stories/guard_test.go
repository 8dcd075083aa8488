package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

var guarded = stage.WithScheduler(corev1.DefaultSchedulerName)

// TestGuardModeBuysForAShortageThatNeverReachesTheFilter: the scheduler's own filters leave no node, so it never calls;
// the watch on unschedulable pods is what tells.
func TestGuardModeBuysForAShortageThatNeverReachesTheFilter(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Apply(stage.Pool("guarded", 2, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
	s.Node("small", stage.Resources("cpu", "2", "memory", "4Gi"))
	s.Guarded(stage.ReplicaOptions{})
	pod := s.Create(s.Pod("large", stage.Resources("cpu", "3"), guarded))[0]
	t.Logf("ran after %s", s.AwaitRunning(soon, pod))
	got, err := s.Get(pod)
	require.NoError(t, err)
	require.Equal(t, "guarded", s.NodeOf(got).Labels[v1alpha1.PoolLabel])
	require.Len(t, s.MustClaims(""), 1)
	s.WholeAndPaired()
}

// TestGuardModeNeverChoosesAStartingNode: the pod tolerates every taint and would fit; only Muster's veto keeps it off
// until the node's agents have taken the startup taint away.
func TestGuardModeNeverChoosesAStartingNode(t *testing.T) {
	const agent = "example.com/network-not-ready"
	s := stage.New(t, kit)
	s.Backend()
	pool := stage.Pool("slow-start", 1, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")})
	pool.Spec.Template.StartupTaints = []corev1.Taint{{Key: agent, Effect: corev1.TaintEffectNoSchedule}}
	s.Apply(pool)
	s.Node("small", stage.Resources("cpu", "2", "memory", "4Gi"))
	s.Guarded(stage.ReplicaOptions{})
	pod := s.Create(s.Pod("eager", stage.Resources("cpu", "3"), guarded, stage.WithToleration("")))[0]
	s.Hold(soon, "the pod to be refused by the starting node", func() error { return s.Unbound(pod) },
		func() error { return s.SchedulerSays(pod, "still starting") })
	claim := s.AwaitClaims(soon, "slow-start", 1, v1alpha1.ClaimStarting)[0]
	require.NoError(t, s.Unbound(pod))

	s.ChangeNode(claim.Status.NodeName, stage.Untaint(agent))
	t.Logf("ran %s after the agent was done", s.AwaitRunning(soon, pod).Round(time.Millisecond))
	s.WholeAndPaired()
}

// TestGuardModeNeverChoosesAClosedNode: a taint says that a node is being released, and that is enough, whoever set it.
func TestGuardModeNeverChoosesAClosedNode(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Node("closed", stage.Resources("cpu", "4", "memory", "8Gi"), stage.Taint(v1alpha1.ReleasingTaint))
	s.Guarded(stage.ReplicaOptions{})
	pod := s.Create(s.Pod("eager", stage.Resources("cpu", "3"), guarded, stage.WithToleration("")))[0]
	s.Hold(soon, "the pod to be refused by the closed node", func() error { return s.Unbound(pod) },
		func() error { return s.SchedulerSays(pod, "being released") })
	s.ChangeNode("closed", stage.Untaint(v1alpha1.ReleasingTaint))
	t.Logf("ran %s after the node was open", s.AwaitRunning(soon, pod).Round(time.Millisecond))
}

// TestGuardModeGoesOnWithoutItsExtender: the entry is ignorable, so pods that fit are scheduled while Muster is dead and
// while it hangs.
func TestGuardModeGoesOnWithoutItsExtender(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Nodes(2, "roomy", stage.Resources("cpu", "8", "memory", "16Gi"))
	replica := s.Guarded(stage.ReplicaOptions{})
	s.AwaitRunning(soon, s.Create(guardedPods(s, "before", 3)...)...)
	replica.Muster.Pause()
	t.Logf("ran after %s with Muster hanging", s.AwaitRunning(soon, s.Create(guardedPods(s, "hanging", 3)...)...))
	replica.Muster.Kill()
	t.Logf("ran after %s with Muster dead", s.AwaitRunning(soon, s.Create(guardedPods(s, "dead", 10)...)...))
}

func guardedPods(s *stage.Stage, name string, n int) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, s.Pod(fmt.Sprintf("%s-%d", name, i), stage.Resources("cpu", "250m"), guarded))
	}
	return pods
}
