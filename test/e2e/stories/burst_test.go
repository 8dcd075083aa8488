package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestBurstBuysWhatPlanSays: 300 pods of five sizes come at once, DaemonSets take their part of every node, and what is
// bought is what `muster plan` says for the same pods.
func TestBurstBuysWhatPlanSays(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend("--boot-min=3s", "--boot-median=5s", "--boot-max=8s")
	pool := stage.Pool("burst", 60, []v1alpha1.Shape{
		stage.Shape("small", "cpu", "4", "memory", "8Gi"),
		stage.Shape("medium", "cpu", "8", "memory", "16Gi"),
		stage.Shape("large", "cpu", "16", "memory", "32Gi"),
	})
	s.Apply(pool)
	// Their daemons leave them no room for any of the pods: who takes the last free room is chance, and plan cannot know it.
	s.Nodes(2, "full", stage.Resources("cpu", "500m", "memory", "1Gi"))
	s.Stock()
	daemons := []*stage.Daemon{
		s.DaemonSet("agent", corev1.DefaultSchedulerName, stage.Resources("cpu", "200m", "memory", "256Mi")),
		s.DaemonSet("logs", stage.PlaceScheduler, stage.Resources("cpu", "100m", "memory", "128Mi")),
	}
	// One batch, however slowly a loaded machine lets the scheduler ask about 300 pods: with the shipped window of at most
	// 5 s a slow one splits the burst in two, and two plans are not one.
	s.Place(stage.ReplicaOptions{Flags: []string{"--batch-idle=3s", "--batch-max=60s"}})
	s.AwaitDaemons(soon, daemons...)

	begin := time.Now()
	pods := s.Create(burst(s)...)
	t.Logf("%d pods were created in %s", len(pods), time.Since(begin).Round(time.Millisecond))
	wanted := s.Plan([]*v1alpha1.NodePool{pool}, pods)
	t.Logf("all pods ran after %s", s.AwaitRunning(3*time.Minute, pods...))
	s.WholeAndPaired()

	claims := s.MustClaims("")
	bought := map[string]int{}
	counted := map[types.UID]string{}
	for _, c := range claims {
		bought[c.Spec.Pool+"/"+c.Spec.Shape]++
		for _, p := range c.Spec.Reserved {
			require.Empty(t, counted[p.UID], "pod %s is counted in %s and in %s", p.Name, counted[p.UID], c.Name)
			counted[p.UID] = c.Name
		}
	}
	t.Logf("bought %v for %d of %d pods", bought, len(counted), len(pods))
	require.Equal(t, wanted, bought, "bought is what plan says")
	require.Len(t, s.Machines(), len(claims), "nothing was bought and given back on the way")
	s.AwaitDaemons(soon, daemons...)
}

func burst(s *stage.Stage) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, size := range []struct {
		name, cpu, memory string
		n                 int
	}{
		{"xs", "250m", "256Mi", 100}, {"s", "500m", "1Gi", 80}, {"m", "1", "1Gi", 60},
		{"l", "1500m", "3Gi", 40}, {"xl", "3", "6Gi", 20},
	} {
		for i := range size.n {
			pods = append(pods, s.Pod(fmt.Sprintf("%s-%d", size.name, i), stage.Resources("cpu", size.cpu, "memory", size.memory)))
		}
	}
	return pods
}
