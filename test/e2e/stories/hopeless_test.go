package stories

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestPodThatNoPoolCanTakeBuysNothing: the pod says why, in its condition and in an event, while a pod that can be
// helped beside it is helped.
func TestPodThatNoPoolCanTakeBuysNothing(t *testing.T) {
	cases := []struct {
		name   string
		pod    func(*stage.Stage) *corev1.Pod
		reason string // in the condition's text
	}{
		{"too large", func(s *stage.Stage) *corev1.Pod {
			return s.Pod("giant", stage.Resources("cpu", "64"))
		}, "no shape is large enough"},
		{"a label nobody has", func(s *stage.Stage) *corev1.Pod {
			return s.Pod("elsewhere", stage.Resources("cpu", "1"), stage.WithNodeSelector("example.com/zone", "moon"))
		}, "node affinity/selector"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := stage.New(t, kit)
			s.Backend()
			s.Apply(stage.Pool("only", 3, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
			s.Node("small", stage.Resources("cpu", "2", "memory", "4Gi"))
			s.Place(stage.ReplicaOptions{})

			pod := s.Create(c.pod(s))[0]
			s.AwaitNoHelp(soon, pod, c.reason)
			require.Empty(t, s.MustClaims(""), "nothing is bought for it")

			helped := s.Create(s.Pod("helped", stage.Resources("cpu", "3")))[0]
			s.AwaitRunning(soon, helped)
			s.AwaitNoHelp(soon, pod, c.reason)
			require.Len(t, s.MustClaims(""), 1, "the one machine is for the other pod")
			require.NoError(t, s.Unbound(pod))
			s.WholeAndPaired()
		})
	}
}
