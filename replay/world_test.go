package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func TestLoadComesAndGoes(t *testing.T) {
	w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{poolOf("general", 10, shape("small", "4", "8Gi"))}},
		burst(30, 0, 100*time.Millisecond, 10*time.Minute, "500m", "512Mi")...)
	newWitness(w).run(t)
	require.Empty(t, w.Ends())
	s := w.Summary()
	require.Equal(t, 30, s.Pods.Finished)
	require.Equal(t, s.Machines.Bought, s.Machines.Released)
	require.Zero(t, s.Machines.Wasted)
	require.LessOrEqual(t, s.Wait.Max, 140.0, "the slowest machine boots for two minutes")
}

func TestKeepsTheMinimum(t *testing.T) {
	p := poolOf("general", 10, shape("small", "4", "8Gi"))
	p.Spec.Limits.MinNodes = 2
	w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{p}}, burst(20, time.Hour, time.Second, time.Minute, "1", "1Gi")...)
	newWitness(w).run(t)
	require.Empty(t, w.Ends())
	require.Equal(t, 2, w.Summary().Machines.Left)
}

func TestNeverAboveTheLimitAndSaysWhy(t *testing.T) {
	w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{poolOf("general", 2, shape("small", "4", "8Gi"))}},
		burst(20, 0, 0, 0, "1", "1Gi")...)
	newWitness(w).run(t)
	s := w.Summary()
	require.Equal(t, 6, s.Pods.Running, "two nodes of 3.9 cores hold three pods each")
	require.Equal(t, 14, s.Pods.Waiting)
	require.Equal(t, map[string]int{"PoolLimit": 14}, s.Pods.Why)
}

func TestWaitingPodsTakeWhatOthersLeave(t *testing.T) {
	w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{poolOf("general", 1, shape("small", "4", "8Gi"))}},
		burst(30, 0, 0, 5*time.Minute, "1", "1Gi")...)
	newWitness(w).run(t)
	require.Empty(t, w.Ends())
	require.Equal(t, 1, w.Summary().Machines.Bought)
}

func TestFailuresOfTheBackend(t *testing.T) {
	for name, failures := range map[string]v1alpha1.SimFailures{
		"creations are refused":     {Create: 40},
		"answers are lost":          {Lost: 60},
		"machines never join":       {NeverJoin: 40},
		"everything at once, often": {Create: 20, Lost: 30, NeverJoin: 20},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{
				Pools:     []*v1alpha1.NodePool{poolOf("general", 12, shape("small", "4", "8Gi"))},
				Providers: []*v1alpha1.Provider{simProvider(v1alpha1.Sim{Failures: failures})},
				Tail:      3 * time.Hour,
			}, burst(24, 0, time.Second, 20*time.Minute, "1", "1Gi")...)
			newWitness(w).run(t)
			require.Empty(t, w.Ends())
		})
	}
}

// A cluster that was saved has its DaemonSets' pods already: no node gets a second one.
func TestNodesKeepTheDaemonPodsTheyHave(t *testing.T) {
	set := daemonSet("agent", "1", "1Gi")
	set.UID = "agent"
	there := pod("agent-x", "1", "1Gi")
	there.Spec.NodeName, there.Spec.SchedulerName = "a", corev1.DefaultSchedulerName
	there.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	w := newWorld(t, Options{
		Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi"), onNode("b", "4", "8Gi")}, Pods: []*corev1.Pod{there},
		DaemonSets: []*appsv1.DaemonSet{set},
	})
	w.RunUntil(Zero.Add(time.Minute))
	require.Len(t, w.api.podsOn("a"), 1)
	require.Len(t, w.api.podsOn("b"), 1)
}

// SchedulingGates keeps a pod out of the queue.
func TestGatedPodsAreNotTried(t *testing.T) {
	p := pod("gated", "1", "1Gi")
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.org/wait"}}
	w := newWorld(t, Options{Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi")}}, Arrival{Pod: p})
	w.RunUntil(Zero.Add(10 * time.Minute))
	require.Zero(t, w.Summary().Scheduler.Attempts)
}
