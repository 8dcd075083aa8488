package stories

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestClusterWithoutASchedulableNodeGetsItsFirst: the scheduler does not even call its filters.
func TestClusterWithoutASchedulableNodeGetsItsFirst(t *testing.T) {
	cases := []struct {
		name string
		set  func(*stage.Stage)
	}{
		{"no node at all", func(*stage.Stage) {}},
		{"a cordoned node only", func(s *stage.Stage) {
			s.Node("cordoned", stage.Resources("cpu", "8", "memory", "16Gi"), func(n *corev1.Node) { n.Spec.Unschedulable = true })
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := stage.New(t, kit)
			s.Backend()
			s.Apply(stage.Pool("first", 2, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
			c.set(s)
			s.Place(stage.ReplicaOptions{})
			pods := s.Create(s.Pod("one", stage.Resources("cpu", "1")), s.Pod("two", stage.Resources("cpu", "2")))
			t.Logf("ran after %s", s.AwaitRunning(soon, pods...))
			require.Len(t, s.MustClaims(""), 1, "one node has room for both")
			s.WholeAndPaired()
		})
	}
}
