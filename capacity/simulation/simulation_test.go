package simulation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/internal/scene"
)

// short has pods be shortfalls of the scene, and returns the view and their place in it.
func short(s *scene.Scene, pods ...*corev1.Pod) (*Simulation, []*Class) {
	for i, p := range pods {
		pods[i] = object.Unscheduled(p, corev1.PodReasonUnschedulable)
	}
	s.Pods(pods...)
	sim := New(s.View())
	var classes []*Class
	for _, p := range pods {
		classes = append(classes, sim.Class(s.Shortfall(p.UID).Pod))
	}
	return sim, classes
}

func TestSimulationCountsWhatIsPut(t *testing.T) {
	s := scene.New()
	s.Nodes(object.InZone(object.Node("a", "cpu", "4"), "a"), object.InZone(object.Node("b", "cpu", "4"), "b"))
	sim, c := short(s,
		object.SpreadOver(object.Pod("web", "cpu", "1"), corev1.LabelTopologyZone, corev1.DoNotSchedule), object.Pod("plain", "cpu", "3"),
		object.Ported(object.Pod("ported"), 80))
	web, plain, takesPort := c[0], c[1], c[2]
	a, b := sim.On("a"), sim.On("b")
	require.False(t, web.Plain())
	require.True(t, plain.Plain())
	require.False(t, takesPort.Plain())

	mark := sim.Mark()
	require.Equal(t, 1, sim.Most(web, a, 9), "the second would make the skew two")
	sim.Put(web, a, 1)
	require.Equal(t, capacity.CodeTopologySpread, sim.Judge(web, a).Reason.Code)
	require.True(t, sim.Judge(web, a).Resolvable)
	require.True(t, sim.Judge(web, b).Fits)
	sim.Put(plain, a, 1)
	require.Equal(t, capacity.Reason{Code: capacity.CodeInsufficient, Detail: "cpu"}, sim.Judge(plain, a).Reason)
	sim.Put(takesPort, b, 1)
	require.Equal(t, capacity.Reason{Code: capacity.CodeHostPorts}, sim.Judge(takesPort, b).Reason)
	sim.Take(takesPort, b, 1)
	require.True(t, sim.Judge(takesPort, b).Fits)
	sim.Rewind(mark)
	for _, class := range c {
		require.True(t, sim.Judge(class, a).Fits)
	}
	require.Equal(t, int64(4000), a.Free.MilliCPU)
}

// An imagined machine is a host of its own, and gone after Rewind or Close.
func TestSimulationOpensMachines(t *testing.T) {
	s := scene.New()
	s.Nodes(object.Node("a", "cpu", "4"))
	sim, c := short(s, object.SpreadOver(object.Pod("web", "cpu", "1"), corev1.LabelHostname, corev1.DoNotSchedule))
	web, a := c[0], sim.On("a")
	model := sim.Model(&capacity.Node{Name: "new", Object: object.Node("new"), Allocatable: amount.Resources{MilliCPU: 4000, Pods: 9}})
	require.True(t, sim.Takes(web, model))
	mark := sim.Mark()
	sim.Put(web, a, 1)
	require.True(t, sim.Judge(web, a).Fits, "there is but one host")
	first, second := sim.Open(model), sim.Open(model)
	require.Equal(t, capacity.CodeTopologySpread, sim.Judge(web, a).Reason.Code)
	sim.Put(web, first, 1)
	require.Equal(t, capacity.CodeTopologySpread, sim.Judge(web, first).Reason.Code, "the other new host is empty")
	require.True(t, sim.Judge(web, second).Fits)
	sim.Close(second)
	require.True(t, sim.Judge(web, first).Fits)
	sim.Rewind(mark)
	sim.Put(web, a, 1)
	require.True(t, sim.Judge(web, a).Fits, "there is but one host again")
}

// A pod of the view can be taken away, with what it keeps others from.
func TestSimulationRemovesPods(t *testing.T) {
	s := scene.New()
	s.Nodes(object.Node("a", "cpu", "4"))
	lonely := object.Bound(object.Ported(object.Pod("lonely", "cpu", "3"), 80), "a")
	lonely.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{}}}}}
	s.Pods(lonely)
	sim, c := short(s, object.Ported(object.Pod("web", "cpu", "2"), 80))
	a := sim.On("a")
	require.Equal(t, capacity.CodeHostPorts, sim.Judge(c[0], a).Reason.Code)
	for _, p := range sim.Pods(a) {
		sim.Remove(p, a)
	}
	require.Equal(t, capacity.Verdict{Fits: true}, sim.Judge(c[0], a))
	for _, p := range sim.Pods(a) {
		sim.Restore(p, a)
	}
	require.Equal(t, capacity.CodeHostPorts, sim.Judge(c[0], a).Reason.Code)
	require.Equal(t, capacity.CodeAvoided, sim.judgeOthers(c[0], a).Reason.Code)
}

// Preferences are rules until they are let go, the weakest first.
func TestSimulationRelaxes(t *testing.T) {
	s := scene.New()
	s.Nodes(object.InZone(object.Node("a", "cpu", "4"), "a"), object.Tainted(object.InZone(object.Node("b", "cpu", "4"), "b"), "meh", corev1.TaintEffectPreferNoSchedule))
	p := object.Preferring(object.Pod("p", "cpu", "1"), 50, corev1.NodeSelectorRequirement{
		Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}})
	p = object.SpreadOver(p, corev1.LabelTopologyZone, corev1.ScheduleAnyway)
	sim, classes := short(s, p)
	sim.Put(classes[0], sim.On("a"), 1)
	var story []string
	for c := sim.Strictest(classes[0]); c != nil; c = sim.Relaxed(c) {
		require.Same(t, classes[0], c.Base())
		story = append(story, fmt.Sprint(len(c.wishes), sim.Judge(c, sim.On("a")).Fits, sim.Judge(c, sim.On("b")).Fits))
	}
	require.Equal(t, []string{
		"3 false false", // off the taint, spread, and into zone b
		"2 false false", // off the taint, and spread
		"1 true false",  // off the taint
		"0 true true",
	}, story)
}

// Pods that no rule tells apart are one class, whatever their labels.
func TestClassesAreAsFewAsRulesAllow(t *testing.T) {
	labelled := func(p *corev1.Pod, app, index string) *corev1.Pod {
		p.Labels = map[string]string{"app": app, "index": index}
		return p
	}
	s := scene.New()
	_, c := short(s, labelled(object.Pod("p1"), "web", "1"), labelled(object.Pod("p2"), "db", "2"))
	require.Same(t, c[0], c[1], "there is no rule at all")

	s = scene.New()
	_, c = short(s, labelled(object.Pod("p1"), "web", "1"), labelled(object.Pod("p2"), "web", "2"), labelled(object.Pod("p3"), "db", "1"),
		object.SpreadOver(object.Pod("p4"), corev1.LabelHostname, corev1.DoNotSchedule))
	require.Same(t, c[0], c[1], "nobody looks at index")
	require.NotSame(t, c[0], c[2], "somebody looks at app")
}

func BenchmarkSimulation(b *testing.B) {
	s := scene.New()
	for i := range 5000 {
		s.Nodes(object.InZone(object.Node(fmt.Sprintf("n%d", i), "cpu", "64"), string(rune('a'+i%3))))
		for k := range 10 {
			p := object.Bound(object.Pod(fmt.Sprintf("p%d-%d", i, k), "cpu", "1"), fmt.Sprintf("n%d", i))
			p.Labels = map[string]string{"app": fmt.Sprintf("app%d", k)}
			s.Pods(p)
		}
	}
	for name, p := range map[string]*corev1.Pod{
		"plain":  object.Pod("q", "cpu", "1"),
		"spread": object.SpreadOver(object.Pod("q", "cpu", "1"), corev1.LabelTopologyZone, corev1.DoNotSchedule),
	} {
		s.Pods(object.Unscheduled(p, corev1.PodReasonUnschedulable))
		v, pod := s.View(), s.Shortfall(p.UID).Pod
		b.Run("first class/"+name, func(b *testing.B) {
			for range b.N {
				New(v).Class(pod)
			}
		})
		sim := New(v)
		c := sim.Class(pod)
		b.Run("judge and put/"+name, func(b *testing.B) {
			for i := range b.N {
				place := sim.Places()[i%5000]
				sim.Judge(c, place)
				sim.Put(c, place, 1)
				sim.Take(c, place, 1)
			}
		})
		s.ForgetPod(p.UID)
	}
}
