package stories

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestShortageInPlaceModeGetsANewNode: whatever a pod lacks, it ends Running on a node that was not there before, of
// the one pool that can help.
func TestShortageInPlaceModeGetsANewNode(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Apply(
		stage.Pool("general", 3, []v1alpha1.Shape{stage.Shape("m", "cpu", "8", "memory", "16Gi")},
			func(p *v1alpha1.NodePool) { p.Spec.Weight = 10 }),
		stage.Pool("accelerated", 1, []v1alpha1.Shape{stage.Shape("g", "cpu", "8", "memory", "16Gi", "example.com/gpu", "2")}),
		stage.Pool("fast-disk", 1, []v1alpha1.Shape{stage.Shape("m", "cpu", "8", "memory", "16Gi")},
			stage.PoolLabel("example.com/disk", "fast")),
		stage.Pool("team-a", 1, []v1alpha1.Shape{stage.Shape("m", "cpu", "8", "memory", "16Gi")},
			stage.PoolLabel("example.com/team", "a"), stage.PoolTaint("example.com/dedicated", "team-a")),
	)
	s.Node("small", stage.Resources("cpu", "2", "memory", "4Gi"))
	s.Place(stage.ReplicaOptions{})

	cases := []struct {
		name  string
		pool  string
		pod   *corev1.Pod
		nodes int // of the pool, afterwards
	}{
		{"cpu", "general", s.Pod("cpu", stage.Resources("cpu", "5", "memory", "4Gi")), 1},
		{"memory", "general", s.Pod("memory", stage.Resources("cpu", "100m", "memory", "15Gi")), 2},
		{"an extended resource", "accelerated", s.Pod("gpu", stage.Resources("cpu", "1", "example.com/gpu", "2")), 1},
		{"a label that only a pool has, from zero", "fast-disk",
			s.Pod("selector", stage.Resources("cpu", "1"), stage.WithNodeSelector("example.com/disk", "fast")), 1},
		{"a dedicated pool behind a taint", "team-a",
			s.Pod("dedicated", stage.Resources("cpu", "1"), stage.WithNodeSelector("example.com/team", "a"),
				stage.WithToleration("example.com/dedicated")), 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			pod := s.Create(c.pod)[0]
			t.Logf("ran after %s", s.AwaitRunning(soon, pod))
			got, err := s.Get(pod)
			require.NoError(t, err)
			node := s.NodeOf(got)
			require.Equal(t, c.pool, node.Labels[v1alpha1.PoolLabel])
			require.True(t, !node.CreationTimestamp.Before(&pod.CreationTimestamp), "the node is younger than the pod")
			require.Len(t, s.MustClaims(c.pool), c.nodes, "no more machines than needed")
			s.TellsItsStory(got)
		})
	}
	s.WholeAndPaired()
}
