package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// spreadEvenly has the pods with the pod's label app differ by one at most between the domains of a key.
func spreadEvenly(p *corev1.Pod, key, app string) *corev1.Pod {
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}})
	return p
}

// twoZones are a node in zone a and two in b, those with little room; one pod of the app web is in a. A second one is refused
// there, since b has none, and finds no room in b.
func twoZones(t *testing.T) *scene {
	s := newScene()
	for name, cpu := range map[string]string{"a": "8", "b": "2", "b2": "100m"} {
		n := makeNode(name, "cpu", cpu, "memory", "8Gi")
		n.Labels[corev1.LabelTopologyZone] = name[:1]
		s.nodes(n)
	}
	first := labelled(makePod("first", "cpu", "1"), "web")
	first.Spec.NodeName = "a"
	s.now = s.now.Add(time.Minute)
	s.pods(first, secondWeb())
	require.Empty(t, s.place(secondWeb(), "b", "b2").Node)
	require.True(t, s.shortfall("second").Refused.Has("a"))
	return s
}

func secondWeb() *corev1.Pod {
	return spreadEvenly(labelled(makePod("second", "cpu", "4"), "web"), corev1.LabelTopologyZone, "web")
}

func (s *scene) outcome(uid types.UID) Outcome { return NewPlan(s.View(), s.now).Outcomes[uid] }

func TestARefusalThatThePlanUnderstandsIsJudgedByThePlan(t *testing.T) {
	s := twoZones(t)
	require.Equal(t, Unserved, s.outcome("second").Fate)
	require.Equal(t, "b", s.place(labelled(makePod("third", "cpu", "1"), "web"), "b").Node)
	o := s.outcome("second")
	require.Equal(t, FitsNow, o.Fate, "the call was about a cluster in which zone b had none")
	require.Equal(t, "a", o.Node)
}

func TestARefusalOfAnotherKindStands(t *testing.T) {
	s := twoZones(t)
	require.Equal(t, "b", s.place(labelled(makePod("third", "cpu", "1"), "web"), "b").Node)
	require.Equal(t, FitsNow, s.outcome("second").Fate)
	s.now = s.now.Add(time.Second)
	require.Empty(t, s.place(secondWeb(), "b", "b2").Node)
	require.Equal(t, Unserved, s.outcome("second").Fate, "nothing has moved since: the scheduler knows something else of node a")

	s.pods(makePod("plain", "cpu", "4"))
	require.Empty(t, s.place(makePod("plain", "cpu", "4"), "b", "b2").Node)
	require.Equal(t, "b", s.place(makePod("mover", "cpu", "500m"), "a", "b").Node)
	require.Equal(t, Unserved, s.outcome("plain").Fate, "no pod keeps this one off node a")
}

func TestThePlanDoesNotInsistForEver(t *testing.T) {
	s := twoZones(t)
	require.Equal(t, "b", s.place(labelled(makePod("third", "cpu", "500m"), "web"), "b").Node)
	mover := makePod("mover", "cpu", "100m")
	ask := func(after time.Duration) Fate {
		s.now = s.now.Add(after)
		s.Nudged("second", s.now)
		require.Empty(t, s.place(secondWeb(), "b", "b2").Node)
		require.Equal(t, "b", s.place(mover, "b").Node, "something always moves")
		return s.outcome("second").Fate
	}
	require.Equal(t, FitsNow, ask(time.Second))
	require.Equal(t, FitsNow, ask(contradictedFor-time.Nanosecond))
	require.Equal(t, Unserved, ask(time.Nanosecond))
}
