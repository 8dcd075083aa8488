package capacity

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func cpu(n *Node) [2]int64 { return [2]int64{n.Used.MilliCPU, n.Held.MilliCPU} }

func TestPlaceHoldsUntilThePodIsSeenBound(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4", "memory", "8Gi"))
	p := object.Pod("p", "cpu", "3")
	require.Equal(t, "n", s.place(p, "n").Node)
	require.Equal(t, "n", s.Held("p"))
	require.Equal(t, [2]int64{0, 3000}, cpu(s.node("n")))

	q := object.Pod("q", "cpu", "2")
	require.Equal(t, map[string]Reason{"n": lacks("cpu")}, s.place(q, "n").Refused)

	s.pods(object.Unscheduled(p, "SchedulerError"))
	terminating := p.DeepCopy()
	terminating.DeletionTimestamp = object.Time(object.Start)
	s.pods(terminating)
	s.nodes(object.Node("n", "cpu", "4", "memory", "9Gi"))
	require.Equal(t, "n", s.Held("p"), "nothing but the end of the pod's wait ends its hold")

	s.pods(object.Bound(p, "n"))
	require.Empty(t, s.Held("p"))
	require.Equal(t, [2]int64{3000, 0}, cpu(s.node("n")))
	require.NotNil(t, s.place(q, "n").Refused)

	done := object.Bound(p, "n")
	done.Status.Phase = corev1.PodSucceeded
	s.pods(done)
	require.Equal(t, "n", s.place(q, "n").Node, "a finished pod takes nothing")
}

func TestAHoldEndsWithItsPod(t *testing.T) {
	end := map[string]func(s *scene, p *corev1.Pod){
		"deleted":  func(s *scene, p *corev1.Pod) { s.ForgetPod(p.UID) },
		"bound":    func(s *scene, p *corev1.Pod) { s.pods(object.Bound(p, "other")) },
		"finished": func(s *scene, p *corev1.Pod) { p.Status.Phase = corev1.PodFailed; s.pods(p) },
	}
	for name, ends := range end {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.nodes(object.Node("n", "cpu", "4"))
			p := object.Pod("p", "cpu", "3")
			s.place(p, "n")
			ends(s, p)
			require.Empty(t, s.Held("p"))
			require.True(t, s.node("n").Held.IsZero())
		})
	}
}

func TestANewerCallReplacesTheHold(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"), object.Node("b", "cpu", "4"))
	p := object.Pod("p", "cpu", "3")
	s.place(p, "a")
	require.Equal(t, "b", s.place(p, "b").Node)
	require.Equal(t, "b", s.Held("p"))
	require.True(t, s.node("a").Held.IsZero())

	small := object.Pod("p", "cpu", "9")
	require.Empty(t, s.place(small, "a", "b").Node)
	require.Empty(t, s.Held("p"), "the scheduler asks again: what it was told before does not hold")
	require.True(t, s.node("b").Held.IsZero())
}

func TestASupersededCallChangesNothing(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"), object.Node("b", "cpu", "4"))
	p := object.Pod("p", "cpu", "3")
	_, err := s.Place(context.Background(), Call{Number: 7, Pod: PodOf(p), Nodes: []string{"a"}, Now: object.Start})
	require.NoError(t, err)
	before := s.Generation()
	_, err = s.Place(context.Background(), Call{Number: 6, Pod: PodOf(p), Nodes: []string{"b"}, Now: object.Start})
	require.ErrorIs(t, err, ErrSuperseded)
	require.Equal(t, "a", s.Held("p"))
	require.Equal(t, before, s.Generation())
}

func TestACancelledCallChangesNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"), object.Node("b", "cpu", "4"))
	p := object.Pod("p", "cpu", "3")
	_, err := s.Place(cancelled, Call{Number: 1, Pod: PodOf(p), Nodes: []string{"a"}, Now: object.Start})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, s.Held("p"))

	_, err = s.Place(context.Background(), Call{Number: 2, Pod: PodOf(p), Nodes: []string{"a"}, Now: object.Start})
	require.NoError(t, err)
	for _, nodes := range [][]string{{"b"}, {}} {
		_, err = s.Place(cancelled, Call{Number: 3, Pod: PodOf(p), Nodes: nodes, Now: object.At(1)})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, "a", s.Held("p"), "the hold taken before stays")
		require.Equal(t, object.Start, s.HoldsBefore(object.At(9))[0].Since)
		require.Equal(t, [2]int64{0, 3000}, cpu(s.node("a")))
		require.Empty(t, s.View().Shortfalls)
	}
}

// A call that timed out may be worked on after its pod was bound, or even deleted. A hold for it would never end.
func TestACallForASettledPodTakesNoHold(t *testing.T) {
	for name, settle := range map[string]func(s *scene, p *corev1.Pod){
		"bound":            func(s *scene, p *corev1.Pod) { s.pods(object.Bound(p, "a")) },
		"finished":         func(s *scene, p *corev1.Pod) { p.Status.Phase = corev1.PodFailed; s.pods(p) },
		"gone":             func(s *scene, p *corev1.Pod) { s.pods(p); s.ForgetPod(p.UID) },
		"gone, never seen": func(s *scene, p *corev1.Pod) { s.ForgetPod(p.UID) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.nodes(object.Node("a", "cpu", "4"), object.Node("b", "cpu", "4"))
			p := object.Pod("p", "cpu", "3")
			settle(s, p)
			_, err := s.Place(context.Background(), Call{Number: 1, Pod: PodOf(object.Pod("p", "cpu", "3")), Nodes: []string{"b"}, Now: object.Start})
			require.ErrorIs(t, err, ErrSettled)
			require.ErrorIs(t, err, ErrSuperseded, "the extender answers both alike")
			require.Empty(t, s.HoldsBefore(object.At(9)))
			require.Empty(t, s.View().Shortfalls)
		})
	}
	s := newScene()
	_, err := s.Place(context.Background(), Call{Number: 1, Pod: PodOf(object.Pod("", "cpu", "3"))})
	require.ErrorIs(t, err, ErrNoUID, "pods without a UID would replace each other's holds")
}

func TestPlaceRefusesWhatItCannotAnswerFor(t *testing.T) {
	s := newScene()
	starting, releasing := object.Tainted(object.Node("s", "cpu", "4"), "muster.sh/starting", corev1.TaintEffectNoSchedule),
		object.Tainted(object.Node("r", "cpu", "4"), "muster.sh/releasing", corev1.TaintEffectNoSchedule)
	s.nodes(starting, releasing)
	all := object.Pod("all", "cpu", "1")
	all.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	require.Equal(t, map[string]Reason{"s": {Code: CodeStarting}, "r": {Code: CodeReleasing}, "x": {Code: CodeUnknownNode}},
		s.place(all, "s", "r", "x").Refused)

	grouped := object.Pod("g", "cpu", "1")
	grouped.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{}
	s.nodes(object.Node("n", "cpu", "4"))
	require.Equal(t, map[string]Reason{"n": {Code: CodeSchedulingGroup}}, s.place(grouped, "n").Refused)
	require.Nil(t, s.shortfall("g"))
	require.Equal(t, map[string]Reason{"n": {Code: CodeInvalid}, "s": {Code: CodeStarting}}, s.place(object.Pod("neg", "cpu", "-1"), "n", "s").Refused)
}

func TestADaemonPodUsesTheRoomSetAsideForIt(t *testing.T) {
	s := newScene()
	s.SetDaemonSet(object.DaemonSet("agent", "cpu", "1"))
	s.nodes(object.Tainted(object.Node("n", "cpu", "4"), "muster.sh/starting", corev1.TaintEffectNoSchedule))
	agent := object.Owned(object.Pod("agent-1", "cpu", "1"), "DaemonSet", "agent")
	agent.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	require.Equal(t, "n", s.place(agent, "n").Node, "nodes start by their DaemonSet pods")
	require.Equal(t, int64(0), s.node("n").Daemons.MilliCPU, "held there, it is counted once")
	s.ForgetPod(agent.UID)

	s.nodes(object.Node("n", "cpu", "4"))
	require.Equal(t, "n", s.place(object.Pod("p", "cpu", "3"), "n").Node)
	require.NotNil(t, s.place(object.Pod("q", "cpu", "1"), "n").Refused)
	again := object.Owned(object.Pod("agent-2", "cpu", "1"), "DaemonSet", "agent")
	require.Equal(t, "n", s.place(again, "n").Node, "the last core was kept for it")
	require.Equal(t, int64(0), s.node("n").Free().MilliCPU)
}

// The refusal that is remembered must be the one that would be given now.
func TestARefusalIsRememberedUntilANodeChanges(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"), object.Node("b", "cpu", "1"))
	big := object.Pod("big", "cpu", "4")
	s.place(big, "a", "b")
	ask := object.Pod("p", "cpu", "4")
	first := s.place(ask, "a", "b").Refused
	twin := object.Pod("twin", "cpu", "4")
	require.Equal(t, 1, len(s.refusals.bySignature))
	require.Equal(t, first, s.place(twin, "b", "a").Refused, "in any order of nodes")
	require.Equal(t, 1, len(s.refusals.bySignature))

	// The big pod is asked about again, and its hold is lifted without another hold being taken.
	require.Nil(t, nodeOf(s.place(big, "b")))
	require.Equal(t, "a", s.place(twin, "a", "b").Node)
}

func nodeOf(p placed) any {
	if p.Node == "" {
		return nil
	}
	return p.Node
}

func TestRefusalsAreBoundedInMemory(t *testing.T) {
	s := newScene()
	var names []string
	for i := range 1000 {
		n := object.Node(fmt.Sprintf("n%d", i), "cpu", "1")
		s.nodes(n)
		names = append(names, n.Name)
	}
	for i := range 700 {
		s.place(object.Pod(fmt.Sprintf("p%d", i), "cpu", fmt.Sprintf("%dm", 2000+i)), names...)
		require.LessOrEqual(t, s.refusals.reasons, rememberedReasons)
	}
	held := 0
	for _, r := range s.refusals.bySignature {
		held += len(r.reasons) + len(r.missing)
	}
	require.Equal(t, held, s.refusals.reasons)
}

func TestRanking(t *testing.T) {
	s := newScene()
	node := func(name, zone string) *corev1.Node {
		n := object.Node(name, "cpu", "4", "memory", "8Gi")
		n.Labels["zone"] = zone
		return n
	}
	s.nodes(node("a", "1"), node("b", "2"), node("c", "1"), object.Tainted(node("soft", "1"), "meh", corev1.TaintEffectPreferNoSchedule))
	all := []string{"soft", "a", "b", "c"}
	where := func(p *corev1.Pod) string {
		node := s.place(p, all...).Node
		s.ForgetPod(p.UID)
		return node
	}
	require.Equal(t, "a", where(object.Pod("p1", "cpu", "1")), "the first by name among equals")
	s.pods(object.Bound(object.Pod("b1", "cpu", "1"), "b"), object.Bound(object.Pod("c1", "cpu", "2"), "c"), object.Bound(object.Pod("s1", "cpu", "3"), "soft"))
	require.Equal(t, "c", where(object.Pod("p2", "cpu", "1")), "the fullest of those that pods do not prefer to avoid")
	s.pods(object.Bound(object.Pod("s2"), "soft"), object.Bound(object.Pod("b2"), "b"))
	require.Equal(t, "b", where(object.Pod("p6", "cpu", "1")), "the one with the most pods, although another is fuller: it will stay longest")
	s.ForgetPod("b2")
	s.pods(object.Bound(object.Owned(object.Pod("r1"), "ReplicaSet", "rs"), "c"))
	require.Equal(t, "b", where(object.Owned(object.Pod("r2", "cpu", "1"), "ReplicaSet", "rs")), "apart from its siblings, on a node in use")
	require.Equal(t, "c", where(object.Owned(object.Pod("j", "cpu", "1"), "Job", "rs")), "pods of a Job are not spread")
	require.Equal(t, "b", where(object.Preferring(object.Pod("p3", "cpu", "1"), 5,
		corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"2"}})), "where it prefers to be")
	tolerant := object.Pod("p4", "cpu", "1")
	tolerant.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	require.Equal(t, "soft", where(tolerant), "what it tolerates it does not avoid")
	s.pods(object.Bound(object.Owned(object.Pod("d", "memory", "8Gi"), "DaemonSet", "ds"), "a"))
	require.Equal(t, "c", where(object.Pod("p5", "cpu", "1")), "a node with nothing but residents is left to empty itself")
}

// Bindings become visible 300 ms after the filter's answer, as the scheduler binds asynchronously.
func TestTheViewMayLagBehindTheBindings(t *testing.T) {
	s := newScene()
	var names []string
	for i := range 100 {
		n := object.Node(fmt.Sprintf("n%03d", i), "cpu", "4", "memory", "16Gi")
		s.nodes(n)
		names = append(names, n.Name)
	}
	type binding struct {
		at  time.Time
		pod *corev1.Pod
	}
	var coming []binding
	perNode, short := map[string]int{}, 0
	for i := range 1000 {
		s.now = object.Start.Add(time.Duration(i) * 3 * time.Millisecond)
		for len(coming) > 0 && !coming[0].at.After(s.now) {
			s.pods(coming[0].pod)
			coming = coming[1:]
		}
		p := object.Pod(fmt.Sprintf("p%04d", i), "cpu", "500m")
		s.pods(p)
		node := s.place(p, names...).Node
		if node == "" {
			short++
			continue
		}
		perNode[node]++
		coming = append(coming, binding{s.now.Add(300 * time.Millisecond), object.Bound(p, node)})
	}
	for _, b := range coming {
		s.pods(b.pod)
	}
	require.Equal(t, 200, short)
	require.Len(t, s.View().Shortfalls, 200)
	require.Len(t, perNode, 100)
	for node, count := range perNode {
		require.Equal(t, 8, count, node)
	}
	for _, n := range s.View().Nodes {
		require.Equal(t, [2]int64{4000, 0}, cpu(n))
	}
}

func TestANominationCountsAsAHold(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"), object.Node("b", "cpu", "4"))
	p := object.Unscheduled(object.Pod("p", "cpu", "3"), corev1.PodReasonUnschedulable)
	s.pods(p)
	require.NotNil(t, s.shortfall("p"))
	s.pods(object.Nominated(p, "a"))
	require.Equal(t, "a", s.Held("p"), "after a restart it is all that is left of an answer")
	require.Nil(t, s.shortfall("p"), "room is held for it")
	require.NotNil(t, s.place(object.Pod("q", "cpu", "2"), "a").Refused)

	s.pods(object.Nominated(p, "b"))
	require.Equal(t, "b", s.Held("p"))
	s.pods(p)
	require.Empty(t, s.Held("p"), "the scheduler took it back")
	require.NotNil(t, s.shortfall("p"))

	require.Equal(t, "b", s.place(p, "b").Node)
	s.pods(object.Nominated(p, "a"))
	require.Equal(t, "b", s.Held("p"), "an answer of ours is newer than a nomination")

	require.Empty(t, s.place(object.Pod("p", "cpu", "9"), "a", "b").Node)
	s.pods(object.Unscheduled(object.Nominated(p, "a"), corev1.PodReasonUnschedulable))
	require.Empty(t, s.Held("p"), "a nomination that a newer call replaced is not taken up again")
}

func TestStrangersAreBindingsWeDidNotAnswerFor(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"))
	s.pods(object.Bound(object.Pod("old", "cpu", "1"), "a"), object.Nominated(object.Pod("sent", "cpu", "1"), "a"))
	require.Zero(t, s.StrangerBound(), "what was there at the start says nothing about now")

	ours := object.Pod("ours", "cpu", "1")
	s.pods(ours)
	s.place(ours, "a")
	s.now = object.At(1)
	s.pods(object.Nominated(ours, "a"), object.Bound(ours, "a"))
	require.Zero(t, s.StrangerBound())

	theirs := object.Pod("theirs", "cpu", "1")
	s.pods(theirs)
	s.now = object.At(2)
	s.pods(object.Nominated(theirs, "a"))
	require.Equal(t, object.At(2), s.StrangerBound(), "another's answer, on its way")
	s.now = object.At(3)
	s.pods(object.Bound(theirs, "a"))
	require.Equal(t, object.At(3), s.StrangerBound())

	guarded := object.Pod("guarded", "cpu", "1")
	guarded.Spec.SchedulerName = "default-scheduler"
	s.now = object.At(4)
	s.pods(guarded, object.Bound(guarded, "a"))
	require.Equal(t, object.At(3), s.StrangerBound(), "others' schedulers do not ask us")
}

func TestHoldsBeforeListsTheOldestFirst(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "40"))
	for i, name := range []string{"c", "a", "d", "b"} {
		s.now = object.At(i / 2)
		s.place(object.Pod(name, "cpu", "1"), "a")
	}
	var order []types.UID
	for _, h := range s.HoldsBefore(object.At(9)) {
		order = append(order, h.Pod.UID)
		require.Equal(t, "a", h.Node)
	}
	require.True(t, slices.Equal([]types.UID{"a", "c", "b", "d"}, order), order)
	require.Len(t, s.HoldsBefore(object.At(1)), 2)
	require.Empty(t, s.HoldsBefore(object.Start))
}

// A pod that was asked about is taken in at once; the watch may still deliver what was before.
func TestAnOlderVersionOfAPodChangesNothing(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4"))
	p := object.Pod("p", "cpu", "3")
	p.ResourceVersion = "99"
	s.pods(p)
	s.place(p, "a")
	newer, between := object.Bound(p, "a"), p.DeepCopy()
	newer.ResourceVersion, between.ResourceVersion = "101", "100"
	s.pods(newer, between)
	require.Equal(t, [2]int64{3000, 0}, cpu(s.node("a")))
	assert.NotNil(t, s.place(object.Pod("q", "cpu", "2"), "a").Refused)
}
