package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity/internal/object"
)

// expectedScene has 2 CPUs on each of two nodes. The plan sends b to n and c to m.
func expectedScene() *scene {
	s := newScene()
	s.nodes(object.Node("m", "cpu", "2", "memory", "8Gi"), object.Node("n", "cpu", "2", "memory", "8Gi"))
	for _, p := range []*corev1.Pod{object.Pod("a", "cpu", "1"), object.Pod("b", "cpu", "2"), object.Pod("c", "cpu", "1")} {
		s.pods(object.Unscheduled(p, corev1.PodReasonUnschedulable))
	}
	s.Expect(sent(map[types.UID]string{"b": "n", "c": "m"}))
	return s
}

func TestRoomIsKeptWhereAPlanSendsPods(t *testing.T) {
	s := expectedScene()
	require.Equal(t, map[string]Reason{"n": lacks("cpu")}, s.place(object.Pod("a", "cpu", "1"), "n").Refused)
	require.Equal(t, "m", s.place(object.Pod("a", "cpu", "1"), "m", "n").Node, "room that nobody is expected in")
	require.Equal(t, "n", s.place(object.Pod("b", "cpu", "2"), "m", "n").Node)
	require.Equal(t, "m", s.place(object.Pod("c", "cpu", "1"), "m", "n").Node)
	require.Zero(t, s.Reserving())
}

func TestRoomIsNoLongerKept(t *testing.T) {
	for name, end := range map[string]func(*scene){
		"when the next plan sends the pod elsewhere": func(s *scene) { s.Expect(sent(map[types.UID]string{"b": "m"})) },
		"when the next plan sends nobody anywhere":   func(s *scene) { s.Expect(Plan{}) },
		"when the pod is gone":                       func(s *scene) { s.ForgetPod("b") },
		"when the pod is bound elsewhere":            func(s *scene) { s.pods(object.Bound(object.Pod("b", "cpu", "2"), "m")) },
		"when the pod is held elsewhere":             func(s *scene) { s.place(object.Pod("b", "cpu", "2"), "m") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.nodes(object.Node("m", "cpu", "2"), object.Node("n", "cpu", "2"))
			s.pods(object.Unscheduled(object.Pod("b", "cpu", "2"), corev1.PodReasonUnschedulable))
			s.Expect(sent(map[types.UID]string{"b": "n"}))
			require.NotEmpty(t, s.place(object.Pod("a", "cpu", "1"), "n").Refused)
			end(s)
			require.Equal(t, "n", s.place(object.Pod("a", "cpu", "1"), "n").Node)
		})
	}
}

func TestMoreImportantPodsTakeRoomThatOthersAreExpectedIn(t *testing.T) {
	s := expectedScene()
	require.Equal(t, "n", s.place(object.WithPriority(object.Pod("a", "cpu", "2"), 1), "n").Node)
	require.NotEmpty(t, s.place(object.Pod("b", "cpu", "2"), "n").Refused)
}

func TestPodsOfOtherSchedulersAreNotExpected(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "2"))
	foreign := object.Unscheduled(object.Pod("b", "cpu", "2"), corev1.PodReasonUnschedulable)
	foreign.Spec.SchedulerName = "guarded"
	s.pods(foreign)
	s.Expect(sent(map[types.UID]string{"b": "n"}))
	require.Equal(t, "n", s.place(object.Pod("a", "cpu", "1"), "n").Node)
}

// A pod's own node is closed to it at the moment, and it takes room where a pod just like it is expected, which it keeps off that
// node from now on.
func TestAPodThatTakesTheNodeOfItsTwinLeavesItsOwnToIt(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("m", "cpu", "2", "memory", "8Gi"), object.Node("n", "cpu", "2", "memory", "8Gi"))
	stranger := object.Pod("stranger", "cpu", "2")
	for _, p := range []*corev1.Pod{object.Pod("a", "cpu", "1"), object.Pod("b", "cpu", "1"), object.Pod("c", "cpu", "1", "memory", "1Gi"), stranger} {
		s.pods(object.Unscheduled(p, corev1.PodReasonUnschedulable))
	}
	s.Expect(sent(map[types.UID]string{"a": "n", "b": "m", "c": "m"}))
	require.Empty(t, s.place(object.Pod("a", "cpu", "1"), "m").Node, "there is no room for one more")
	s.Expect(sent(map[types.UID]string{"a": "n", "b": "m"}))
	require.Equal(t, "m", s.place(object.Pod("a", "cpu", "1"), "m").Node)
	require.Empty(t, s.place(stranger, "n").Node)
	require.Equal(t, "n", s.place(object.Pod("b", "cpu", "1"), "n").Node)
	require.Equal(t, "m", s.place(object.Pod("c", "cpu", "1", "memory", "1Gi"), "m", "n").Node, "b leaves nothing behind")
}
