package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// crowded is a node of 4 CPUs that is full, with pod p, which wants 3 of them, promised the room of a pod that leaves.
func crowded() *scene {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"), object.Node("m", "cpu", "1"))
	s.pods(object.Bound(object.Pod("victim", "cpu", "4"), "n"), object.Unscheduled(object.Pod("p", "cpu", "3"), corev1.PodReasonUnschedulable))
	return s
}

func TestAPromiseKeepsRoomThatIsNotThereYet(t *testing.T) {
	s := crowded()
	require.True(t, s.Promise("p", "n", s.now))
	require.Nil(t, s.shortfall("p"), "nothing is bought for it meanwhile")
	node, why := s.Promised("p")
	require.Equal(t, "n", node)
	require.Equal(t, lacks("cpu"), why)

	require.Empty(t, s.place(object.Pod("p", "cpu", "3"), "n", "m").Node)
	require.Equal(t, "n", s.Held("p"), "a call that came too early does not end it")
	require.Nil(t, s.shortfall("p"))

	s.ForgetPod("victim")
	_, why = s.Promised("p")
	require.Zero(t, why, "the room is there")
	require.Empty(t, s.place(object.Pod("thief", "cpu", "2"), "n", "m").Node, "and is not for others")
	require.Equal(t, "n", s.place(object.Pod("small", "cpu", "1"), "n").Node, "what is left over is")

	require.Equal(t, "n", s.place(object.Pod("p", "cpu", "3"), "n", "m").Node)
	node, _ = s.Promised("p")
	require.Empty(t, node, "the filter's own hold took its place")
	require.Equal(t, [2]int64{0, 4000}, cpu(s.node("n")))
}

func TestAPromiseEndsWhereThePodGoesElsewhere(t *testing.T) {
	s := crowded()
	require.True(t, s.Promise("p", "n", s.now))
	s.nodes(object.Node("new", "cpu", "4"))
	require.Equal(t, "new", s.place(object.Pod("p", "cpu", "3"), "n", "m", "new").Node)
	node, _ := s.Promised("p")
	require.Empty(t, node)
	require.True(t, s.node("n").Held.IsZero())
}

func TestAPromiseThatIsTakenBackLeavesAShortfall(t *testing.T) {
	s := crowded()
	require.True(t, s.Promise("p", "n", s.now))
	s.Unpromise("p", object.At(5))
	require.Equal(t, object.At(5), s.shortfall("p").Since)
	require.True(t, s.node("n").Held.IsZero())
	s.Unpromise("p", object.At(6))
	require.Equal(t, object.At(5), s.shortfall("p").Since, "there was none any more")
}

func TestNoPromiseIsMadeInVain(t *testing.T) {
	s := crowded()
	s.nodes(object.Tainted(object.Node("going", "cpu", "9"), v1alpha1.ReleasingTaint, corev1.TaintEffectNoSchedule))
	require.False(t, s.Promise("nobody", "n", s.now))
	require.False(t, s.Promise("victim", "n", s.now), "it has a node")
	require.False(t, s.Promise("p", "nowhere", s.now))
	require.False(t, s.Promise("p", "going", s.now))
	require.True(t, s.Promise("p", "n", s.now))
	require.False(t, s.Promise("p", "m", s.now), "it has one already")
}

func TestAPromiseSaysWhatStandsInItsWay(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		want   Code
	}{
		"a node that is gone": {func(s *scene) { s.ForgetNode("n") }, CodeUnknownNode},
		"a node that is being released": {func(s *scene) {
			s.nodes(object.Tainted(object.Node("n", "cpu", "4"), v1alpha1.ReleasingTaint, "NoSchedule"))
		}, CodeReleasing},
		"a node that starts again": {func(s *scene) {
			s.nodes(object.Tainted(object.Node("n", "cpu", "4"), v1alpha1.StartingTaint, "NoSchedule"))
		}, CodeStarting},
		"a taint":                        {func(s *scene) { s.nodes(object.Tainted(object.Node("n", "cpu", "4"), "mine", "NoSchedule")) }, CodeTaint},
		"pods that have not left":        {func(*scene) {}, CodeInsufficient},
		"nothing, once the pod has left": {func(s *scene) { s.ForgetPod("victim") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := crowded()
			require.True(t, s.Promise("p", "n", s.now))
			c.change(s)
			_, why := s.Promised("p")
			require.Equal(t, c.want, why.Code)
		})
	}
}

func TestANominationOfAPromisedPodIsNoStranger(t *testing.T) {
	s := crowded()
	require.True(t, s.Promise("p", "n", s.now))
	s.ForgetPod("victim")
	s.pods(object.Nominated(object.Unscheduled(object.Pod("p", "cpu", "3"), corev1.PodReasonUnschedulable), "n"))
	require.True(t, s.StrangerBound().IsZero(), "nobody else's answer is on its way")
	require.Equal(t, "n", s.Held("p"))
	s.pods(object.Bound(object.Pod("p", "cpu", "3"), "n"))
	require.Empty(t, s.Held("p"))
	require.Equal(t, [2]int64{3000, 0}, cpu(s.node("n")))
}

func TestRoomGoesByTheOrderOfThePromises(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"))
	s.pods(object.Bound(object.Pod("v1", "cpu", "2"), "n"), object.Bound(object.Pod("v2", "cpu", "2"), "n"),
		object.Unscheduled(object.Pod("first", "cpu", "2"), "Unschedulable"), object.Unscheduled(object.Pod("second", "cpu", "2"), "Unschedulable"))
	require.True(t, s.Promise("first", "n", s.now))
	require.True(t, s.Promise("second", "n", s.now))
	s.ForgetPod("v2")
	require.Empty(t, s.place(object.Pod("second", "cpu", "2"), "n").Node, "what is there is for the first")
	_, why := s.Promised("second")
	require.Equal(t, lacks("cpu"), why)
	_, why = s.Promised("first")
	require.Zero(t, why)
	require.Equal(t, "n", s.place(object.Pod("first", "cpu", "2"), "n").Node)
	require.Empty(t, s.place(object.Pod("second", "cpu", "2"), "n").Node)
	s.ForgetPod("v1")
	require.Equal(t, "n", s.place(object.Pod("second", "cpu", "2"), "n").Node)
}

func TestAPromisedNodeThatIsNotOfferedIsNotChosen(t *testing.T) {
	s := crowded()
	require.True(t, s.Promise("p", "n", s.now))
	s.ForgetPod("victim")
	require.Empty(t, s.place(object.Pod("p", "cpu", "3"), "m").Node)
	require.Equal(t, "n", s.Held("p"), "the scheduler may not have seen that the other one left")
}
