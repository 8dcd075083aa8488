package planner

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/internal/scene"
)

func TestAPlanSeesTheRoomThatItKeepsItselfAsFree(t *testing.T) {
	s := scene.New()
	s.Nodes(object.Node("m", "cpu", "2", "memory", "8Gi"), object.Node("n", "cpu", "2", "memory", "8Gi"))
	s.Pods(object.Unscheduled(object.Pod("b", "cpu", "2"), corev1.PodReasonUnschedulable), object.Unscheduled(object.Pod("c", "cpu", "1"), corev1.PodReasonUnschedulable))
	s.Expect(Plan(s.View(), s.Now))
	require.NotZero(t, s.Reserving())
	require.Zero(t, s.Node("n").Reserved.MilliCPU)
	plan := Plan(s.View(), s.Now)
	require.Equal(t, capacity.FitsNow, plan.Outcomes["b"].Fate)
	require.Equal(t, capacity.FitsNow, plan.Outcomes["c"].Fate)
}

// What a reopening node has room for is not bought: it takes a moment until its marks are off.
func TestAPlanCountsWithANodeThatOpensAgain(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		want   capacity.Fate
	}{
		"nothing is off yet":                     {func(*corev1.Node) {}, capacity.Waits},
		"it is ready already, with the marks on": {func(*corev1.Node) {}, capacity.Waits},
		"the operator has cordoned it":           {func(n *corev1.Node) { n.Annotations = nil }, capacity.Unserved},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene.New()
			n := object.Tainted(object.Node("n", "cpu", "4"), v1alpha1.ReleasingTaint, corev1.TaintEffectNoSchedule)
			n = object.Tainted(n, corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
			n.Spec.Unschedulable, n.Annotations = true, map[string]string{"muster.sh/cordoned": "true"}
			c.change(n)
			s.Nodes(n)
			state := object.InState(object.Claim("a", "n"), "Draining")
			if name == "it is ready already, with the marks on" {
				state.Status.State = "Ready"
			}
			s.SetClaim(state)
			s.Pods(object.Unscheduled(object.Pod("a", "cpu", "3"), corev1.PodReasonUnschedulable))
			require.Equal(t, c.want, Plan(s.View(), object.Start).Outcomes["a"].Fate)
		})
	}
}

func TestPodsOfTakenRoomArePlannedAgain(t *testing.T) {
	s := scene.New()
	s.Nodes(object.Node("mine", "cpu", "4", "memory", "8Gi"))
	s.SetClaim(object.Claim("pool-000", "mine", "a", "b", "c"))
	for _, name := range []string{"a", "b", "c"} {
		s.Pods(object.Unscheduled(object.Pod(name, "cpu", "1"), corev1.PodReasonUnschedulable))
	}
	s.SetProvider(&v1alpha1.Provider{ObjectMeta: object.Claim("sim", "").ObjectMeta})
	s.SetPool(object.Pool("pool", 5, object.Shape("small", "cpu", "4", "memory", "8Gi")))
	require.Empty(t, Plan(s.View(), s.Now).Creates)

	s.Ask(object.WithPriority(object.Pod("higher", "cpu", "2"), 1), "mine")
	plan := Plan(s.View(), s.Now)
	require.Len(t, plan.Creates, 1)
	require.Equal(t, []v1alpha1.PodReference{{Namespace: "default", Name: "c", UID: "c"}}, plan.Creates[0].Claim.Spec.Reserved)
	for _, uid := range []types.UID{"a", "b"} {
		require.Equal(t, capacity.Outcome{Fate: capacity.FitsNow, Node: "mine"}, plan.Outcomes[uid])
	}
}
