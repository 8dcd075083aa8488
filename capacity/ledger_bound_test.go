package capacity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestDemandIsBounded(t *testing.T) {
	require.Equal(t, 100_000, newLedger().most)
	s := newScene()
	s.ledger.most = 3
	names := func(pods []*Pod) (out []string) {
		for _, p := range pods {
			out = append(out, p.Name)
		}
		return out
	}
	for i := range 6 {
		s.pods(object.Unscheduled(object.Pod(fmt.Sprintf("p%d", i), "cpu", "1"), corev1.PodReasonUnschedulable))
	}
	require.Equal(t, 3, s.Demand().Pods)
	require.Equal(t, 3, s.Demand().Beyond)
	require.Len(t, s.View().Shortfalls, 3)
	require.Equal(t, []string{"p3", "p4", "p5"}, names(s.TakeLeftOut()))
	require.Empty(t, s.TakeLeftOut(), "each is told once")

	s.ForgetPod("p1")
	s.ForgetPod("p3")
	require.NotNil(t, s.shortfall("p4"), "the first that still waits takes the place")
	require.Equal(t, 1, s.Demand().Beyond)
	s.pods(object.Unscheduled(object.Pod("p6", "cpu", "1"), corev1.PodReasonUnschedulable))
	require.Equal(t, []string{"p6"}, names(s.TakeLeftOut()))
	for _, uid := range []types.UID{"p0", "p2", "p4"} {
		s.ForgetPod(uid)
	}
	v := s.View()
	require.Len(t, v.Shortfalls, 2)
	require.Zero(t, s.Demand().Beyond)
}
