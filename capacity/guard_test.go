package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestVeto(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("open", "cpu", "4"),
		object.Tainted(object.Node("starting", "cpu", "4"), v1alpha1.StartingTaint, corev1.TaintEffectNoSchedule),
		object.Tainted(object.Node("releasing", "cpu", "4"), v1alpha1.ReleasingTaint, corev1.TaintEffectNoSchedule),
		object.Node("closed", "cpu", "4"))
	require.True(t, s.Close("closed", nil))
	pod, daemon := object.Pod("p", "cpu", "9"), object.Owned(object.Pod("d"), "DaemonSet", "ds")
	for node, want := range map[string]Code{
		"open": "", "unknown": "", "starting": CodeStarting, "releasing": CodeReleasing, "closed": CodeReleasing,
	} {
		require.Equal(t, Reason{Code: want}, s.Veto(pod, node), node)
		require.Equal(t, Reason{Code: want}, s.VetoObject(pod, object.Node(node)), node)
		require.Zero(t, s.Veto(daemon, node), "nodes start by their DaemonSet pods: %s", node)
	}
	said := object.Tainted(object.Node("unknown"), v1alpha1.StartingTaint, corev1.TaintEffectNoSchedule)
	require.Equal(t, CodeStarting, s.VetoObject(pod, said).Code, "what the request says counts as well")
	said = object.Tainted(said, v1alpha1.ReleasingTaint, corev1.TaintEffectNoSchedule)
	require.Equal(t, CodeReleasing, s.VetoObject(pod, said).Code)
	require.Zero(t, s.VetoObject(daemon, said))
}

func TestReservedRoomIsVetoed(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want Code
	}{
		"to a pod that would take it":           {object.Pod("p", "cpu", "2"), CodeReserved},
		"to a less important one":               {object.WithPriority(object.Pod("p", "cpu", "2"), -1), CodeReserved},
		"not to a more important one":           {object.WithPriority(object.Pod("p", "cpu", "2"), 1), ""},
		"not to one that has room beside it":    {object.Pod("p", "cpu", "1"), ""},
		"not to one that it is kept for":        {object.Pod("a", "cpu", "1"), ""},
		"not to one that does not fit anyway":   {object.Pod("p", "cpu", "5"), ""},
		"not to the pods that nodes start with": {object.Owned(object.Pod("p", "cpu", "2"), "DaemonSet", "ds"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := reservedScene()
			require.Equal(t, Reason{Code: c.want}, s.Veto(c.pod, "mine"))
			require.Equal(t, Reason{Code: c.want}, s.VetoObject(c.pod, object.Node("mine")))
			for _, name := range []string{"a", "b", "c"} {
				s.ForgetPod(types.UID(name))
			}
			require.Zero(t, s.Veto(c.pod, "mine"), "they are gone")
		})
	}
}

func TestPreferences(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("empty", "cpu", "4", "memory", "8Gi"), object.Node("half", "cpu", "4", "memory", "8Gi"),
		object.Node("over", "cpu", "1", "memory", "8Gi"), object.Node("none"), object.Node("closed", "cpu", "4"))
	s.pods(object.Bound(object.Pod("b", "cpu", "2"), "half"))
	s.Close("closed", nil)
	pod := object.Pod("p", "cpu", "1", "memory", "1Gi")
	nodes := []string{"empty", "half", "over", "none", "closed", "unknown"}
	require.Equal(t, []int64{12, 87, 50, 0, 0, 0}, s.Preferences(pod, nodes, 100), "the fuller, and the more pods, the better")
	require.Equal(t, []int64{100}, s.Preferences(object.Pod("huge", "cpu", "10"), []string{"half"}, 100), "never above the maximum")
}

func TestCloseYieldsToWhoWasPromisedRoom(t *testing.T) {
	for name, c := range map[string]struct {
		event func(s *scene)
		want  bool
	}{
		"an empty node":              {func(*scene) {}, true},
		"a node with residents":      {func(s *scene) { s.pods(object.Bound(object.Owned(object.Pod("d"), "DaemonSet", "ds"), "n")) }, true},
		"a node with a static pod":   {func(s *scene) { s.pods(object.Bound(mirror(object.Pod("m")), "n")) }, true},
		"a node with a finished pod": {func(s *scene) { p := object.Bound(object.Pod("f"), "n"); p.Status.Phase = corev1.PodFailed; s.pods(p) }, true},
		"a node with a pod":          {func(s *scene) { s.pods(object.Bound(object.Pod("p"), "n")) }, false},
		"a node with a terminating pod": {func(s *scene) {
			p := object.Bound(object.Pod("p"), "n")
			p.DeletionTimestamp = object.Time(object.Start)
			s.pods(p)
		}, false},
		"a node with a hold":        {func(s *scene) { s.place(object.Pod("p"), "n") }, false},
		"a node with a nomination":  {func(s *scene) { s.pods(object.Nominated(object.Pod("p"), "n")) }, false},
		"a node with a reservation": {func(s *scene) { s.SetClaim(object.Claim("c", "n", "p")); s.pods(object.Pod("p")) }, false},
		"a node that is not there":  {func(s *scene) { s.ForgetNode("n") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.nodes(object.Node("n", "cpu", "4"))
			c.event(s)
			require.Equal(t, c.want, s.Close("n", nil))
			if c.want {
				require.Equal(t, Releasing, s.node("n").Stage)
				require.NotNil(t, s.place(object.Pod("late"), "n").Refused)
				s.Reopen("n")
				require.Equal(t, Open, s.node("n").Stage)
				require.Equal(t, "n", s.place(object.Pod("late"), "n").Node)
			}
		})
	}
}

func mirror(p *corev1.Pod) *corev1.Pod {
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	return p
}

func TestReopeningANodeThatWasNotClosedIsNoNews(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"))
	poke := s.Changed()
	s.Reopen("n")
	s.Reopen("unknown")
	s.nodes(object.Node("n", "cpu", "4"))
	require.Empty(t, poke, "a heartbeat is no news either")
	require.True(t, s.Close("n", nil))
	require.Len(t, poke, 1)
	s.ForgetNode("n")
	s.nodes(object.Node("n", "cpu", "4"))
	require.Equal(t, Open, s.node("n").Stage, "another node of that name")
}
