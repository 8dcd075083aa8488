package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/manifest"
)

func TestStoryEndsWell(t *testing.T) {
	for seed := range int64(10) {
		o, err := Story(seed)
		require.NoError(t, err)
		w, err := New(o)
		require.NoError(t, err)
		newWitness(w).run(t)
		require.Empty(t, w.Ends(), "seed %d", seed)
		s := w.Summary()
		require.Equal(t, 24, s.Pods.Arrived)
		require.Equal(t, 10, s.Pods.Left, "the Deployment was deleted")
		require.Equal(t, 14, s.Pods.Finished)
		require.Zero(t, s.Pods.Restarted)
		require.Zero(t, s.Machines.Wasted)
		require.Less(t, s.End, 420.0, "the story takes less than a minute at the speed of the demo")
		pools := map[string]bool{}
		for _, p := range s.Purchases {
			pools[p.Pool] = true
		}
		require.Equal(t, map[string]bool{"general": true, "gpu": true}, pools)
	}
}

// What is built in is what an API server would take, defaults filled in.
func TestStoryPoolsAreWhatKubectlWouldApply(t *testing.T) {
	read, err := manifest.ReadPools("story/pools.yaml")
	require.NoError(t, err)
	o, err := Story(0)
	require.NoError(t, err)
	require.Len(t, o.Pools, len(read.Pools))
	for i, p := range read.Pools {
		require.Equal(t, p.Name, o.Pools[i].Name)
		require.Equal(t, p.Spec.Limits, o.Pools[i].Spec.Limits)
		require.Equal(t, p.Spec.ScaleUp, o.Pools[i].Spec.ScaleUp)
		require.Equal(t, p.Spec.ScaleDown, o.Pools[i].Spec.ScaleDown)
		require.True(t, p.Spec.Template.Shapes[0].Price.Equal(*o.Pools[i].Spec.Template.Shapes[0].Price))
	}
	require.Equal(t, read.Providers[0].Spec.Sim.Boot, o.Providers[0].Spec.Sim.Boot)
	cluster, err := manifest.ReadCluster("story/load.yaml")
	require.NoError(t, err)
	require.Len(t, cluster.DaemonSets, 1)
	require.Equal(t, map[string]int{"Deployment.apps": 1, "Job.batch": 3}, cluster.Ignored)
}

func TestBrokenEndingsAreTold(t *testing.T) {
	o, err := Story(1)
	require.NoError(t, err)
	w, err := New(o)
	require.NoError(t, err)
	require.True(t, w.RunUntil(Zero.Add(time.Minute)))
	require.Equal(t, Zero.Add(time.Minute), w.Now())
	require.NoError(t, w.Run(t.Context()))
	require.False(t, w.RunUntil(w.Now().Add(time.Hour)), "it is over")
	w.pods.arrive(Arrival{Pod: pod("late", "1", "1Gi")})
	require.Equal(t, "1 pods never had a node", w.Ends())
	w.pods.lives[w.api.podNames["default/late"]].placed = Zero
	require.Equal(t, "1 pods are still there", w.Ends())
}
