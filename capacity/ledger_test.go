package capacity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func unschedulable(p *corev1.Pod) *corev1.Pod {
	return object.Unscheduled(p, corev1.PodReasonUnschedulable)
}

func TestAShortfallIsCountedOncePerPod(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "1"))
	p := object.Pod("p", "cpu", "2")
	s.pods(p)
	s.place(p, "n")
	s.now = object.At(1)
	s.pods(unschedulable(p))
	s.place(p, "n")
	require.Len(t, s.View().Shortfalls, 1)
	f := s.shortfall("p")
	require.Equal(t, object.Start, f.Since, "the first time counts")
	require.Equal(t, object.At(1), f.Called)
	require.Equal(t, lacks("cpu"), f.Reason)
	require.True(t, f.Pod.Unschedulable, "the newest version of the pod is shown")
	require.Equal(t, Demand{Pods: 1, Unplanned: 1, First: object.Start, Last: object.Start}, s.Demand())
}

func TestTheWatchAloneMakesAShortfall(t *testing.T) {
	s := newScene()
	s.pods(unschedulable(object.Pod("p", "cpu", "2")))
	require.NotNil(t, s.shortfall("p"), "a cluster without nodes never asks the extender")
	require.Zero(t, s.shortfall("p").Called)

	for name, p := range map[string]*corev1.Pod{
		"waits for its first attempt":   object.Pod("q"),
		"met an error":                  object.Unscheduled(object.Pod("q"), "SchedulerError"),
		"is gated":                      object.Unscheduled(object.Pod("q"), corev1.PodReasonSchedulingGated),
		"belongs to no scheduler of us": func() *corev1.Pod { p := unschedulable(object.Pod("q")); p.Spec.SchedulerName = "x"; return p }(),
	} {
		s.pods(p)
		require.Nil(t, s.shortfall("q"), name)
		s.ForgetPod("q")
	}
	guarded := unschedulable(object.Pod("g"))
	guarded.Spec.SchedulerName = "default-scheduler"
	s.pods(guarded)
	require.NotNil(t, s.shortfall("g"))
}

func TestAShortfallIsWithdrawn(t *testing.T) {
	for name, end := range map[string]func(s *scene, p *corev1.Pod){
		"when the pod is bound":       func(s *scene, p *corev1.Pod) { s.pods(object.Bound(p, "n")) },
		"when it is deleted":          func(s *scene, p *corev1.Pod) { s.ForgetPod(p.UID) },
		"when it is being deleted":    func(s *scene, p *corev1.Pod) { p.DeletionTimestamp = object.Time(object.Start); s.pods(p) },
		"when it is finished":         func(s *scene, p *corev1.Pod) { p.Status.Phase = corev1.PodFailed; s.pods(p) },
		"when it is gated":            func(s *scene, p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{}}; s.pods(p) },
		"when room is held for it":    func(s *scene, p *corev1.Pod) { s.nodes(object.Node("n", "cpu", "4")); s.place(p, "n") },
		"when it is nominated":        func(s *scene, p *corev1.Pod) { s.pods(object.Nominated(p, "n")) },
		"when it asks for less":       func(s *scene, p *corev1.Pod) { p.Status.Conditions = nil; resize(p, "1"); s.pods(p) },
		"when it tolerates something": func(s *scene, p *corev1.Pod) { p.Status.Conditions = nil; tolerate(p); s.pods(p) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			p := unschedulable(object.Pod("p", "cpu", "2"))
			s.pods(p)
			require.NotNil(t, s.shortfall("p"))
			end(s, p.DeepCopy())
			require.Nil(t, s.shortfall("p"))
		})
	}
}

func resize(p *corev1.Pod, cores string) {
	p.Generation++
	p.Spec.Containers = []corev1.Container{object.Container("main", "cpu", cores)}
}

func tolerate(p *corev1.Pod) {
	p.Generation++
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func TestAShortfallStays(t *testing.T) {
	for name, event := range map[string]func(s *scene, p *corev1.Pod){
		"when the scheduler meets an error":       func(s *scene, p *corev1.Pod) { s.pods(object.Unscheduled(p, "SchedulerError")) },
		"when its condition is gone":              func(s *scene, p *corev1.Pod) { p.Status.Conditions = nil; s.pods(p) },
		"when its labels change":                  func(s *scene, p *corev1.Pod) { p.Labels = map[string]string{"a": "b"}; s.pods(p) },
		"when its spec changes and asks the same": func(s *scene, p *corev1.Pod) { p.Generation++; p.Spec.NodeSelector = map[string]string{}; s.pods(p) },
		"when its ask was forgotten and compiled again": func(s *scene, p *corev1.Pod) {
			s.asks.bySignature.Purge()
			p.Generation, p.Status.Conditions = 2, nil
			s.pods(p)
		},
		"when a call for it is cancelled or superseded": func(s *scene, p *corev1.Pod) {
			s.place(p, "n")
			_, err := s.Place(t.Context(), Call{Number: 0, Pod: PodOf(p), Nodes: []string{"n"}})
			require.ErrorIs(t, err, ErrSuperseded)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			p := unschedulable(object.Pod("p", "cpu", "2"))
			s.pods(p)
			s.MarkPlanned(s.View().Shortfalls, Plan{})
			s.now = object.At(5)
			event(s, p.DeepCopy())
			require.NotNil(t, s.shortfall("p"))
			require.Equal(t, object.Start, s.shortfall("p").Since)
			require.True(t, s.shortfall("p").Planned)
		})
	}
}

func TestACallForOneNodeOfManyProvesNothing(t *testing.T) {
	s := newScene()
	p := object.Pod("p", "cpu", "2")
	s.nodes(object.Node("a", "cpu", "1"))
	s.place(p, "a")
	require.NotNil(t, s.shortfall("p"), "it was all there is")
	s.ForgetPod("p")

	s.nodes(object.Node("b", "cpu", "4"))
	q := object.Pod("q", "cpu", "2")
	s.place(q, "a")
	require.Nil(t, s.shortfall("q"), "the scheduler tries a nominated node alone, and asks about all next")
	s.place(q)
	require.Equal(t, sets.New("a", "b"), s.shortfall("q").Refused, "a call for no node is a full call")
}

func TestNodesMissingFromAFullCallAreRememberedAsRefused(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "1"), object.Node("b", "cpu", "1"), object.Node("c", "cpu", "9"))
	p := object.Pod("p", "cpu", "2")
	s.place(p, "b", "a")
	f := s.shortfall("p")
	require.Equal(t, sets.New("c"), f.Refused)
	require.True(t, f.RefusesNode("c", object.Start.Add(-snapshotLag)), "the scheduler had time to see it")
	require.False(t, f.RefusesNode("a", object.Start))
	s.place(object.Pod("twin", "cpu", "2"), "a", "b")
	require.Equal(t, sets.New("c"), s.shortfall("twin").Refused, "also by an answer that was remembered")

	poke := s.Changed()
	s.place(p, "a", "b")
	require.Empty(t, poke, "the same again is no news")
	s.place(p, "a", "c")
	require.Equal(t, "c", s.Held("p"))
}

func TestRefusalsInTreeThatChangeAreNews(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "1"), object.Node("b", "cpu", "1"), object.Node("c", "cpu", "1"))
	p := object.Pod("p", "cpu", "2")
	s.place(p, "a", "b", "c")
	poke := s.Changed()
	s.place(p, "a", "b")
	require.Len(t, poke, 1)
}

func TestTheCommonestReasonIsTold(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4", "memory", "1Gi"), object.Node("b", "cpu", "1", "memory", "8Gi"), object.Node("c", "cpu", "1", "memory", "8Gi"))
	s.place(object.Pod("p", "cpu", "2", "memory", "2Gi"), "a", "b", "c")
	require.Equal(t, lacks("cpu"), s.shortfall("p").Reason)
	s.place(object.Pod("q", "cpu", "2", "memory", "2Gi"), "a", "b")
	require.Equal(t, lacks("cpu"), s.shortfall("q").Reason, "the first by text among equals")
}

func TestRoomTheSchedulerDoesNotAskAboutCountsAsRefused(t *testing.T) {
	begin := func() *scene {
		s := newScene()
		s.nodes(object.Node("a", "cpu", "4"))
		s.pods(unschedulable(object.Pod("p", "cpu", "2")))
		return s
	}
	nudge := func(s *scene, second int) *Shortfall {
		s.now = object.At(second)
		s.Nudged("p", s.now)
		return s.shortfall("p")
	}
	s := begin()
	require.Zero(t, nudge(s, 0).RefusedUntil)
	require.Zero(t, nudge(s, 9).RefusedUntil, "it may sit out its back-off")
	f := nudge(s, 10)
	require.Equal(t, object.At(0), f.RefusedUntil)
	require.True(t, f.RefusesNode("a", object.Start))
	require.False(t, f.RefusesNode("later", object.At(1)))

	s = begin()
	nudge(s, 0)
	for second := 1; second < 60; second++ {
		s.now = object.At(second)
		s.place(object.Pod("busy", "cpu", "9"), "a")
		require.Zero(t, nudge(s, second).RefusedUntil, "the scheduler is busy with others")
	}
	require.Equal(t, object.At(0), nudge(s, 60).RefusedUntil, "long enough for any queue")

	s = begin()
	nudge(s, 0)
	s.now = object.At(5)
	s.nodes(object.Node("b", "cpu", "1"))
	larger := object.Pod("p")
	resize(larger, "5")
	s.place(larger, "a", "b")
	require.Zero(t, nudge(s, 11).RefusedUntil, "it asked, and the count begins anew")
	s.Nudged("nobody", s.now)
}

func TestPlannedAgain(t *testing.T) {
	s := newScene()
	s.pods(unschedulable(object.Pod("p", "cpu", "2")))
	s.MarkPlanned(s.View().Shortfalls, Plan{})
	require.Equal(t, Demand{Pods: 1}, s.Demand())
	s.PlanAgain("p")
	require.Equal(t, 1, s.Demand().Unplanned)
	require.Equal(t, time.Duration(0), s.Demand().Last.Sub(s.Demand().First))
}
