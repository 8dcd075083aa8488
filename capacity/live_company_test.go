package capacity

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// onPort gives a pod a port of its node.
func onPort(p *corev1.Pod, port int32) *corev1.Pod {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
	return p
}

// Three nodes with much room, two of them in one zone. A pod is expected on the first.
func companyScene(awaited *corev1.Pod) *scene {
	s := newScene()
	for name, zone := range map[string]string{"first": "a", "second": "a", "third": "b"} {
		n := object.Node(name, "cpu", "8", "memory", "8Gi")
		n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelHostname] = zone, name
		s.nodes(n)
	}
	s.pods(object.Unscheduled(awaited, corev1.PodReasonUnschedulable))
	s.Expect(sent(map[types.UID]string{awaited.UID: "first"}))
	return s
}

func TestRoomIsKeptFromThoseWhoWouldKeepItsPodsAway(t *testing.T) {
	taken := Reason{Code: CodeReserved}
	for name, c := range map[string]struct {
		awaited, other *corev1.Pod
		barred         []string
	}{
		"the same port": {onPort(object.Pod("a", "cpu", "1"), 80), onPort(object.Pod("b", "cpu", "2"), 80), []string{"first"}},
		"another port":  {onPort(object.Pod("a", "cpu", "1"), 80), onPort(object.Pod("b", "cpu", "1"), 81), nil},
		"one that avoids it": {object.Labelled(object.Pod("a", "cpu", "1"), "web"),
			object.AvoidingPods(object.Pod("b", "cpu", "1"), corev1.LabelTopologyZone, "web"), []string{"first", "second"}},
		"one that it avoids": {object.AvoidingPods(object.Pod("a", "cpu", "1"), corev1.LabelHostname, "web"),
			object.Labelled(object.Pod("b", "cpu", "1"), "web"), []string{"first"}},
		"one that avoids others": {object.Labelled(object.Pod("a", "cpu", "1"), "db"),
			object.AvoidingPods(object.Pod("b", "cpu", "1"), corev1.LabelTopologyZone, "web"), nil},
		"one just like it": {onPort(object.Pod("a", "cpu", "1"), 80), onPort(object.Pod("b", "cpu", "1"), 80), []string{"first"}},
		"a more important one": {onPort(object.Pod("a", "cpu", "1"), 80),
			object.WithPriority(onPort(object.Pod("b", "cpu", "1"), 80), 5), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(c.awaited)
			for _, node := range []string{"first", "second", "third"} {
				got := s.place(c.other, node)
				if slices.Contains(c.barred, node) {
					require.Equal(t, map[string]Reason{node: taken}, got.Refused)
				} else {
					require.Equal(t, node, got.Node)
				}
			}
			require.Equal(t, "first", s.place(c.awaited, "first", "second", "third").Node, "it goes where it is expected")
		})
	}
}

func TestWhoWasKeptAwayComesInWhenNobodyIsExpectedAnyMore(t *testing.T) {
	s := companyScene(onPort(object.Pod("a", "cpu", "1"), 80))
	other := onPort(object.Pod("b", "cpu", "2"), 80)
	require.NotEmpty(t, s.place(other, "first").Refused)
	s.Expect(Plan{})
	require.Equal(t, "first", s.place(other, "first").Node)
}

// Two pods of a priority are to come to a zone: one that spreads over zones, and one that it counts. The plan has judged the
// one that spreads among those before it only.
func TestAPodWaitsForThoseWhoseSpreadItWouldTilt(t *testing.T) {
	tilting := object.Labelled(object.Pod("tilting", "cpu", "1"), "web")
	for name, c := range map[string]struct {
		turns []types.UID
		want  string
	}{
		"that come before it in the plan": {[]types.UID{"spreads", "tilting"}, ""},
		"but not for those after it":      {[]types.UID{"tilting", "spreads"}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(object.SpreadEvenly(object.Labelled(object.Pod("spreads", "cpu", "1"), "web"), corev1.LabelTopologyZone, "web"))
			s.pods(object.Unscheduled(tilting, corev1.PodReasonUnschedulable))
			s.Expect(sent(map[types.UID]string{"spreads": "first", "tilting": "first"}, c.turns...))
			require.Equal(t, c.want, s.place(tilting, "first", "second").Node)
			require.Equal(t, "third", s.place(object.Labelled(object.Pod("stranger", "cpu", "1"), "web"), "second", "third").Node,
				"who is promised nothing comes last")
		})
	}
}

// The machines of two pods have come, and no plan was made since. On machines to come the plan judged the spread of the more
// important one as if the other were not there.
func TestAPodWaitsOnItsMachineForTheSpreadOfAMoreImportantOne(t *testing.T) {
	s := companyScene(object.Pod("a", "cpu", "1"))
	spreads := object.WithPriority(object.SpreadEvenly(object.Labelled(object.Pod("spreads", "cpu", "1"), "web"), corev1.LabelTopologyZone, "web"), 5)
	counted := object.Labelled(object.Pod("counted", "cpu", "1"), "web")
	s.pods(object.Unscheduled(spreads, corev1.PodReasonUnschedulable), object.Unscheduled(counted, corev1.PodReasonUnschedulable))
	s.SetClaim(object.Claim("pool-000", "second", "spreads"))
	s.SetClaim(object.Claim("pool-001", "third", "counted"))
	require.Equal(t, "third", s.place(counted, "second", "third").Node, "in another zone")
	s.SetClaim(object.Claim("pool-001", "first", "counted"))
	require.Empty(t, s.place(counted, "first", "second").Node)
	require.Equal(t, "second", s.place(spreads, "first", "second").Node)
	require.Equal(t, "first", s.place(counted, "first", "second").Node)
}

// Two pods that nobody can tell apart take a port each, and one of them has a machine of its own on the way: it leaves the
// node to the other.
func TestAPodWithAMachineOnTheWayLeavesTheNodeToItsTwin(t *testing.T) {
	s := companyScene(onPort(object.Pod("a", "cpu", "1"), 80))
	twin := onPort(object.Pod("b", "cpu", "1"), 80)
	s.pods(object.Unscheduled(twin, corev1.PodReasonUnschedulable))
	s.SetClaim(object.InState(object.Claim("coming", "", "b"), v1alpha1.ClaimJoining))
	require.Empty(t, s.place(twin, "first").Node)
}

// Two pods that nobody can tell apart are spread over zones, and one of them has its room on the second node of a zone. The
// other was promised nothing: were it to stand on the first, in the room of a pod that is less important, the second would
// stay empty, and a machine would be bought for the one that was driven out.
func TestAPodThatWasPromisedNothingStaysOutOfTheDomainOfItsTwin(t *testing.T) {
	spread := func(name string) *corev1.Pod {
		p := object.SpreadEvenly(object.Labelled(object.Pod(name, "cpu", "6"), "web"), corev1.LabelTopologyZone, "web")
		return object.Unscheduled(object.WithPriority(p, 5), corev1.PodReasonUnschedulable)
	}
	for name, announced := range map[string]string{"before a plan was made since the machine came": "", "once the node is nominated": "machine"} {
		t.Run(name, func(t *testing.T) {
			small, promised, stranger := object.Pod("small", "cpu", "6"), spread("promised"), spread("stranger")
			s := companyScene(small)
			n := object.Node("machine", "cpu", "8", "memory", "8Gi")
			n.Labels[corev1.LabelTopologyZone] = "a"
			s.nodes(n)
			s.pods(promised, stranger)
			s.SetClaim(object.Claim("pool-000", "machine", "promised"))
			s.pods(object.Nominated(promised, announced))
			require.Equal(t, announced, s.Held(promised.UID))
			require.Empty(t, s.place(stranger, "first").Node)
			require.Equal(t, "machine", s.place(promised, "machine", "first").Node)
			require.Equal(t, "first", s.place(small, "first").Node)
		})
	}
}

// A more important pod wants the port of one that is expected. As long as a machine of its own is on the way it leaves the node
// to the other, for whom a third would be bought.
func TestAPodWithAMachineOnTheWayTakesNoPortOfALessImportantOne(t *testing.T) {
	s := companyScene(onPort(object.Pod("small", "cpu", "1"), 80))
	important := object.WithPriority(onPort(object.Pod("important", "cpu", "1"), 80), 5)
	s.pods(object.Unscheduled(important, corev1.PodReasonUnschedulable))
	coming := object.InState(object.Claim("coming", "", "important"), v1alpha1.ClaimJoining)
	s.SetClaim(coming)
	require.Empty(t, s.place(important, "first").Node)
	s.ForgetClaim(coming.Name, coming.UID)
	require.Equal(t, "first", s.place(important, "first").Node)
}

// A pod comes before one that spreads in the plan, and was counted where its own room is. In another place it would be one too
// many in a zone.
func TestAPodTiltsNoSpreadWhereItWasNotCounted(t *testing.T) {
	for name, priority := range map[string]int32{"of one as important": 0, "of a less important one": 5} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(object.SpreadEvenly(object.Labelled(object.Pod("spreads", "cpu", "1"), "web"), corev1.LabelTopologyZone, "web"))
			counted := object.WithPriority(object.Labelled(object.Pod("counted", "cpu", "1"), "web"), priority)
			s.pods(object.Unscheduled(counted, corev1.PodReasonUnschedulable))
			s.Expect(sent(map[types.UID]string{"counted": "third", "spreads": "first"}, "counted", "spreads"))
			require.Empty(t, s.place(counted, "first", "second").Node)
			require.Equal(t, "third", s.place(counted, "first", "second", "third").Node)
		})
	}
}

// A pod goes only where another one is, and both are to come to one machine. The other one waits for that machine, although it
// would fit somewhere else.
func TestAPodStaysWhereAnotherCountsOnIt(t *testing.T) {
	for name, c := range map[string]struct {
		key  string
		own  string // the machine's node, if it is there
		want string
	}{
		"on the very node":                  {corev1.LabelHostname, "first", "first"},
		"in the same zone":                  {corev1.LabelTopologyZone, "first", "second"},
		"while their machine is on its way": {corev1.LabelHostname, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(object.Pod("a", "cpu", "1"))
			anchor, guest := object.Labelled(object.Pod("anchor", "cpu", "1"), "web"), beside(object.Pod("guest", "cpu", "1"), c.key, "web")
			s.pods(object.Unscheduled(anchor, corev1.PodReasonUnschedulable), object.Unscheduled(guest, corev1.PodReasonUnschedulable))
			coming := object.Claim("coming", c.own, "anchor", "guest")
			if c.own == "" {
				coming = object.InState(coming, v1alpha1.ClaimJoining)
			}
			s.SetClaim(coming)
			require.Empty(t, s.place(anchor, "third").Node)
			if c.want != "" {
				require.Equal(t, c.want, s.place(anchor, c.want, "third").Node)
			}
			s.ForgetPod(guest.UID)
			require.Equal(t, "third", s.place(anchor, "third").Node, "nobody counts on it any more")
		})
	}
}

// beside lets a pod go only to domains of pods with a label app.
func beside(p *corev1.Pod, key, app string) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}}}
	return p
}

// A pod whose own room the scheduler's filters do not let it have yet takes nobody else's.
func TestAPodWithRoomOfItsOwnTakesOverNoneOfOthers(t *testing.T) {
	small := object.Pod("small", "cpu", "6")
	s := companyScene(small)
	important := object.Pod("important", "cpu", "6")
	important.Spec.Priority = new(int32(1000))
	s.pods(object.Unscheduled(important, corev1.PodReasonUnschedulable))
	s.Expect(sent(map[types.UID]string{"small": "first", "important": "third"}))
	require.Empty(t, s.place(important, "first").Node, "not third, which it may not have at the moment")
	s.Expect(sent(map[types.UID]string{"small": "first"}))
	coming := object.InState(object.Claim("coming", "", "important"), v1alpha1.ClaimJoining)
	s.SetClaim(coming)
	require.Empty(t, s.place(important, "first").Node, "its machine is on the way")
	s.ForgetClaim(coming.Name, coming.UID)
	require.Equal(t, "first", s.place(important, "first").Node)
}

// A machine is on its way, in the zone of the first two nodes: its node is not there yet, and the scheduler's own filters know
// nothing of the pod that is to come to it.
func TestTheDomainOfAMachineOnItsWayIsKeptForItsPods(t *testing.T) {
	spread := func(name string) *corev1.Pod {
		return object.SpreadEvenly(object.Labelled(object.Pod(name, "cpu", "1"), "web"), corev1.LabelTopologyZone, "web")
	}
	for name, c := range map[string]struct {
		coming, other *corev1.Pod
		planned       bool
		want          string
	}{
		"from one that avoids it": {object.Labelled(object.Pod("a", "cpu", "1"), "web"),
			object.AvoidingPods(object.Pod("b", "cpu", "1"), corev1.LabelTopologyZone, "web"), false, ""},
		"from one that it avoids": {object.AvoidingPods(object.Pod("a", "cpu", "1"), corev1.LabelTopologyZone, "web"),
			object.Labelled(object.Pod("b", "cpu", "1"), "web"), false, ""},
		"not on other hosts": {object.AvoidingPods(object.Pod("a", "cpu", "1"), corev1.LabelHostname, "web"),
			object.Labelled(object.Pod("b", "cpu", "1"), "web"), false, "first"},
		"not from a more important one": {object.AvoidingPods(object.Pod("a", "cpu", "1"), corev1.LabelTopologyZone, "web"),
			object.WithPriority(object.Labelled(object.Pod("b", "cpu", "1"), "web"), 5), true, "first"},
		"from one that would tilt its spread and that a plan had nothing for": {spread("a"), spread("b"), true, ""},
		"not from one that no plan has seen":                                  {spread("a"), spread("b"), false, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(object.Pod("elsewhere", "cpu", "1"))
			s.pods(object.Unscheduled(c.coming, corev1.PodReasonUnschedulable), object.Unscheduled(c.other, corev1.PodReasonUnschedulable))
			claim := object.InState(object.Claim("coming", "", "a"), v1alpha1.ClaimJoining)
			claim.Spec.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
			s.SetClaim(claim)
			if c.planned {
				s.MarkPlanned(s.View().Shortfalls, Plan{Outcomes: map[types.UID]Outcome{"b": {Fate: Unserved}}})
			}
			require.Equal(t, c.want, s.place(c.other, "first", "second").Node)
			require.NotEmpty(t, s.place(c.other, "second", "third").Node, "another zone is free")
			s.release(c.other.UID)
			s.ForgetClaim(claim.Name, claim.UID)
			require.NotEmpty(t, s.place(c.other, "first", "second").Node, "nobody is to come any more")
		})
	}
}

// Once the node of a machine is there it counts for itself, and not the claim's word for it; where the pod has its node, or is
// gone, nobody is kept off.
func TestAMachineOnItsWayCountsOnce(t *testing.T) {
	for name, end := range map[string]func(*scene){
		"its pod is gone": func(s *scene) { s.ForgetPod("a") },
		"its pod is elsewhere": func(s *scene) {
			require.Equal(t, "third", s.place(object.Labelled(object.Pod("a", "cpu", "1"), "web"), "third").Node)
		},
		"its node is there": func(s *scene) {
			n := object.Node("machine", "cpu", "8", "memory", "8Gi")
			n.Labels[corev1.LabelTopologyZone] = "c"
			s.nodes(n)
			s.SetClaim(object.InState(object.Claim("coming", "machine", "a"), v1alpha1.ClaimStarting))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(object.Pod("elsewhere", "cpu", "1"))
			shy := object.AvoidingPods(object.Pod("b", "cpu", "1"), corev1.LabelTopologyZone, "web")
			s.pods(object.Unscheduled(object.Labelled(object.Pod("a", "cpu", "1"), "web"), corev1.PodReasonUnschedulable), object.Unscheduled(shy, corev1.PodReasonUnschedulable))
			claim := object.InState(object.Claim("coming", "", "a"), v1alpha1.ClaimJoining)
			claim.Spec.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
			s.SetClaim(claim)
			require.Empty(t, s.place(shy, "first").Node)
			end(s)
			require.Equal(t, "first", s.place(shy, "first").Node)
		})
	}
}

// Two machines were ordered together, and the first has come. The only pod of the second would find room on it.
func TestTheLastPodOfAMachineOnTheWayLeavesTheRoomOnNewMachinesToOthers(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"while pods wait that have rules":     {func(*scene) {}, ""},
		"not where none has":                  {func(s *scene) { s.ForgetPod("shy") }, "first"},
		"not once the others' time is over":   {func(s *scene) { s.Expire(object.Start.Add(ReservationTTL)) }, "first"},
		"not where its machine does not come": {func(s *scene) { s.ForgetClaim("two", "uid-two") }, "first"},
		"not where a plan sends it there":     {func(s *scene) { s.Expect(sent(map[types.UID]string{"last": "first"})) }, "first"},
		"not where its machine has other pods": {func(s *scene) {
			s.SetClaim(object.InState(object.Claim("two", "", "last", "shy"), v1alpha1.ClaimJoining))
		}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			s := companyScene(object.Pod("elsewhere", "cpu", "1"))
			last := object.Pod("last", "cpu", "1")
			s.pods(object.Unscheduled(last, corev1.PodReasonUnschedulable), object.Unscheduled(object.Pod("one", "cpu", "1"), corev1.PodReasonUnschedulable),
				object.Unscheduled(onPort(object.Pod("shy", "cpu", "1"), 80), corev1.PodReasonUnschedulable))
			s.SetClaim(object.Claim("one", "first", "one"))
			s.SetClaim(object.InState(object.Claim("two", "", "last"), v1alpha1.ClaimJoining))
			require.Equal(t, "third", s.place(last, "first", "third").Node, "another node is not meant")
			s.release("last")
			c.change(s)
			require.Equal(t, c.want, s.place(last, "first").Node)
		})
	}
}
