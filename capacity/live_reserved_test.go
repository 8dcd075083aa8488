package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func withPriority(p *corev1.Pod, priority int32) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.Priority = &priority
	return p
}

// reservedScene is a node of 4 CPUs that was ordered for pods a, b and c of 1 CPU each.
func reservedScene() *scene {
	s := newScene()
	s.nodes(makeNode("mine", "cpu", "4", "memory", "8Gi"))
	s.SetClaim(makeClaim("pool-000", "mine", "a", "b", "c"))
	for _, name := range []string{"a", "b", "c"} {
		s.pods(unscheduled(makePod(name, "cpu", "1"), corev1.PodReasonUnschedulable))
	}
	return s
}

func reservedFor(s *scene) []string {
	var names []string
	for _, p := range s.View().Reserved["pool-000"] {
		names = append(names, p.Name)
	}
	return names
}

func TestReservedRoomIsTakenByHigherPriorityOnly(t *testing.T) {
	s := reservedScene()
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(makePod("same", "cpu", "2"), "mine").Refused)
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(withPriority(makePod("lower", "cpu", "2"), -1), "mine").Refused)
	require.Equal(t, "mine", s.place(withPriority(makePod("higher", "cpu", "2"), 1), "mine").Node)
	require.Equal(t, []string{"a", "b"}, reservedFor(s), "only as many lose their room as must")
	require.Equal(t, int64(2000), s.node("mine").Reserved.MilliCPU)
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(makePod("c", "cpu", "1"), "mine").Refused)
	require.Equal(t, "mine", s.place(makePod("a", "cpu", "1"), "mine").Node)
	require.Equal(t, "mine", s.place(makePod("b", "cpu", "1"), "mine").Node)
}

func TestThoseWhoseRoomWasTakenAreTheLowestInPriority(t *testing.T) {
	s := reservedScene()
	s.pods(withPriority(makePod("c", "cpu", "1"), 5), withPriority(makePod("a", "cpu", "1"), -5))
	require.Equal(t, "mine", s.place(withPriority(makePod("higher", "cpu", "2"), 6), "mine").Node)
	require.Equal(t, []string{"b", "c"}, reservedFor(s))
}

func TestRoomThatIsFreeComesBeforeReservedRoom(t *testing.T) {
	s := reservedScene()
	s.nodes(makeNode("other", "cpu", "4", "memory", "8Gi"))
	require.Equal(t, "other", s.place(withPriority(makePod("higher", "cpu", "2"), 1), "mine", "other").Node)
	require.Equal(t, []string{"a", "b", "c"}, reservedFor(s))
}

func TestDaemonSetRoomIsTakenByNobody(t *testing.T) {
	s := reservedScene()
	s.SetDaemonSet(makeDaemonSet("agent", "cpu", "1"))
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(withPriority(makePod("higher", "cpu", "3500m"), 1), "mine").Refused)
	require.Equal(t, "mine", s.place(withPriority(makePod("high", "cpu", "3"), 1), "mine").Node)
}

func TestAReservationComesBackWhenTheTakerLeaves(t *testing.T) {
	s := reservedScene()
	taker := withPriority(makePod("higher", "cpu", "4"), 1)
	require.Equal(t, "mine", s.place(taker, "mine").Node)
	require.Empty(t, reservedFor(s))
	s.pods(bound(taker, "mine"))
	require.Empty(t, reservedFor(s))
	s.ForgetPod(taker.UID)
	require.Equal(t, []string{"a", "b", "c"}, reservedFor(s))
}

// What a leader after a restart knows is the claim, the pods and the node.
func TestAfterARestartTheSamePodsHaveLostTheirRoom(t *testing.T) {
	s := reservedScene()
	s.pods(bound(makePod("higher", "cpu", "2"), "mine"))
	require.Equal(t, []string{"a", "b"}, reservedFor(s))
}

func TestPodsOfTakenRoomArePlannedAgain(t *testing.T) {
	s := reservedScene()
	s.SetProvider(&v1alpha1.Provider{ObjectMeta: makeClaim("sim", "").ObjectMeta})
	pool := &v1alpha1.NodePool{Spec: v1alpha1.NodePoolSpec{Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 5}}}
	pool.Name = "pool"
	pool.Spec.Template.Shapes = []v1alpha1.Shape{{Name: "small", Resources: amountsOf("cpu", "4", "memory", "8Gi")}}
	s.SetPool(pool)
	require.Empty(t, NewPlan(s.View(), s.now).Creates)

	s.place(withPriority(makePod("higher", "cpu", "2"), 1), "mine")
	plan := NewPlan(s.View(), s.now)
	require.Len(t, plan.Creates, 1)
	require.Equal(t, []v1alpha1.PodReference{{Namespace: "default", Name: "c", UID: "c"}}, plan.Creates[0].Claim.Spec.Reserved)
	for _, uid := range []types.UID{"a", "b"} {
		require.Equal(t, Outcome{Fate: FitsNow, Node: "mine"}, plan.Outcomes[uid])
	}
}

func TestANodeSmallerThanPromisedKeepsRoomForSome(t *testing.T) {
	s := newScene()
	s.nodes(makeNode("mine", "cpu", "2500m", "memory", "8Gi"))
	s.SetClaim(makeClaim("pool-000", "mine", "a", "b", "c"))
	s.pods(makePod("a", "cpu", "1"), makePod("b", "cpu", "1"), makePod("c", "cpu", "1"))
	require.Equal(t, []string{"a", "b"}, reservedFor(s))
	require.Equal(t, "mine", s.place(makePod("a", "cpu", "1"), "mine").Node)
	require.Equal(t, 1, s.Reserving())
}
