package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/internal/object"
)

// reservedScene is a node of 4 CPUs that was ordered for pods a, b and c of 1 CPU each.
func reservedScene() *scene {
	s := newScene()
	s.nodes(object.Node("mine", "cpu", "4", "memory", "8Gi"))
	s.SetClaim(object.Claim("pool-000", "mine", "a", "b", "c"))
	for _, name := range []string{"a", "b", "c"} {
		s.pods(object.Unscheduled(object.Pod(name, "cpu", "1"), corev1.PodReasonUnschedulable))
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
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(object.Pod("same", "cpu", "2"), "mine").Refused)
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(object.WithPriority(object.Pod("lower", "cpu", "2"), -1), "mine").Refused)
	require.Equal(t, "mine", s.place(object.WithPriority(object.Pod("higher", "cpu", "2"), 1), "mine").Node)
	require.Equal(t, []string{"a", "b"}, reservedFor(s), "only as many lose their room as must")
	require.Equal(t, int64(2000), s.node("mine").Reserved.MilliCPU)
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(object.Pod("c", "cpu", "1"), "mine").Refused)
	require.Equal(t, "mine", s.place(object.Pod("a", "cpu", "1"), "mine").Node)
	require.Equal(t, "mine", s.place(object.Pod("b", "cpu", "1"), "mine").Node)
}

func TestThoseWhoseRoomWasTakenAreTheLowestInPriority(t *testing.T) {
	s := reservedScene()
	s.pods(object.WithPriority(object.Pod("c", "cpu", "1"), 5), object.WithPriority(object.Pod("a", "cpu", "1"), -5))
	require.Equal(t, "mine", s.place(object.WithPriority(object.Pod("higher", "cpu", "2"), 6), "mine").Node)
	require.Equal(t, []string{"b", "c"}, reservedFor(s))
}

func TestRoomThatIsFreeComesBeforeReservedRoom(t *testing.T) {
	s := reservedScene()
	s.nodes(object.Node("other", "cpu", "4", "memory", "8Gi"))
	require.Equal(t, "other", s.place(object.WithPriority(object.Pod("higher", "cpu", "2"), 1), "mine", "other").Node)
	require.Equal(t, []string{"a", "b", "c"}, reservedFor(s))
}

func TestDaemonSetRoomIsTakenByNobody(t *testing.T) {
	s := reservedScene()
	s.SetDaemonSet(object.DaemonSet("agent", "cpu", "1"))
	require.Equal(t, map[string]Reason{"mine": lacks("cpu")}, s.place(object.WithPriority(object.Pod("higher", "cpu", "3500m"), 1), "mine").Refused)
	require.Equal(t, "mine", s.place(object.WithPriority(object.Pod("high", "cpu", "3"), 1), "mine").Node)
}

func TestAReservationComesBackWhenTheTakerLeaves(t *testing.T) {
	s := reservedScene()
	taker := object.WithPriority(object.Pod("higher", "cpu", "4"), 1)
	require.Equal(t, "mine", s.place(taker, "mine").Node)
	require.Empty(t, reservedFor(s))
	s.pods(object.Bound(taker, "mine"))
	require.Empty(t, reservedFor(s))
	s.ForgetPod(taker.UID)
	require.Equal(t, []string{"a", "b", "c"}, reservedFor(s))
}

// What a leader after a restart knows is the claim, the pods and the node.
func TestAfterARestartTheSamePodsHaveLostTheirRoom(t *testing.T) {
	s := reservedScene()
	s.pods(object.Bound(object.Pod("higher", "cpu", "2"), "mine"))
	require.Equal(t, []string{"a", "b"}, reservedFor(s))
}

func TestANodeSmallerThanPromisedKeepsRoomForSome(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("mine", "cpu", "2500m", "memory", "8Gi"))
	s.SetClaim(object.Claim("pool-000", "mine", "a", "b", "c"))
	s.pods(object.Pod("a", "cpu", "1"), object.Pod("b", "cpu", "1"), object.Pod("c", "cpu", "1"))
	require.Equal(t, []string{"a", "b"}, reservedFor(s))
	require.Equal(t, "mine", s.place(object.Pod("a", "cpu", "1"), "mine").Node)
	require.Equal(t, 1, s.Reserving())
}
