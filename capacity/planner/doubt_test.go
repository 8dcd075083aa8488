package planner

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/internal/scene"
)

// twoZones are a node in zone a and two in b, those with little room; one pod of the app web is in a. A second one is refused
// there, since b has none, and finds no room in b.
func twoZones(t *testing.T) *scene.Scene {
	s := scene.New()
	for name, cpu := range map[string]string{"a": "8", "b": "2", "b2": "100m"} {
		n := object.Node(name, "cpu", cpu, "memory", "8Gi")
		n.Labels[corev1.LabelTopologyZone] = name[:1]
		s.Nodes(n)
	}
	first := object.Labelled(object.Pod("first", "cpu", "1"), "web")
	first.Spec.NodeName = "a"
	s.Now = s.Now.Add(time.Minute)
	s.Pods(first, secondWeb())
	require.Empty(t, s.Ask(secondWeb(), "b", "b2"))
	require.True(t, s.Shortfall("second").Refused.Has("a"))
	return s
}

func secondWeb() *corev1.Pod {
	return object.SpreadEvenly(object.Labelled(object.Pod("second", "cpu", "4"), "web"), corev1.LabelTopologyZone, "web")
}

func outcome(s *scene.Scene, uid types.UID) capacity.Outcome {
	return Plan(s.View(), s.Now).Outcomes[uid]
}

func TestARefusalThatThePlanUnderstandsIsJudgedByThePlan(t *testing.T) {
	s := twoZones(t)
	require.Equal(t, capacity.Unserved, outcome(s, "second").Fate)
	require.Equal(t, "b", s.Ask(object.Labelled(object.Pod("third", "cpu", "1"), "web"), "b"))
	o := outcome(s, "second")
	require.Equal(t, capacity.FitsNow, o.Fate, "the call was about a cluster in which zone b had none")
	require.Equal(t, "a", o.Node)
}

func TestARefusalOfAnotherKindStands(t *testing.T) {
	s := twoZones(t)
	require.Equal(t, "b", s.Ask(object.Labelled(object.Pod("third", "cpu", "1"), "web"), "b"))
	require.Equal(t, capacity.FitsNow, outcome(s, "second").Fate)
	s.Now = s.Now.Add(time.Second)
	require.Empty(t, s.Ask(secondWeb(), "b", "b2"))
	require.Equal(t, capacity.Unserved, outcome(s, "second").Fate, "nothing has moved since: the scheduler knows something else of node a")

	s.Pods(object.Pod("plain", "cpu", "4"))
	require.Empty(t, s.Ask(object.Pod("plain", "cpu", "4"), "b", "b2"))
	require.Equal(t, "b", s.Ask(object.Pod("mover", "cpu", "500m"), "a", "b"))
	require.Equal(t, capacity.Unserved, outcome(s, "plain").Fate, "no pod keeps this one off node a")
}

func TestThePlanDoesNotInsistForEver(t *testing.T) {
	s := twoZones(t)
	require.Equal(t, "b", s.Ask(object.Labelled(object.Pod("third", "cpu", "500m"), "web"), "b"))
	mover := object.Pod("mover", "cpu", "100m")
	ask := func(after time.Duration) capacity.Fate {
		s.Now = s.Now.Add(after)
		s.Nudged("second", s.Now)
		require.Empty(t, s.Ask(secondWeb(), "b", "b2"))
		require.Equal(t, "b", s.Ask(mover, "b"), "something always moves")
		return outcome(s, "second").Fate
	}
	require.Equal(t, capacity.FitsNow, ask(time.Second))
	require.Equal(t, capacity.FitsNow, ask(contradictedFor-time.Nanosecond))
	require.Equal(t, capacity.Unserved, ask(time.Nanosecond))
}
