package preemption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/preemption"
	"github.com/muster-sh/muster/provider/gate"
)

// The rules of kube-scheduler's DefaultPreemption, one case each. A pod important of priority 100 wants 4 CPUs.
func TestWhoHasToLeave(t *testing.T) {
	for name, c := range map[string]struct {
		setup func(*cluster)
		want  []string
	}{
		"nobody of the same or a higher priority": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("same", 100, 4000, on("a")), pod("above", 200, 4000, on("b")))
		}, nil},
		"the one pod of lower priority": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("same", 100, 4000, on("a")), pod("below", 99, 4000, on("b")))
		}, []string{"important to b: below"}},
		"nobody on a node that is too small when empty": {func(c *cluster) {
			c.nodes(3000, "a")
			c.pods(pod("below", 0, 3000, on("a")))
		}, nil},
		"nobody where even all of them are not enough": {func(c *cluster) {
			c.nodes(4000, "a")
			c.pods(pod("below", 0, 3000, on("a")), pod("above", 200, 1000, on("a")))
		}, nil},
		"only as many as it takes: the more important stay": {func(c *cluster) {
			c.nodes(6000, "a")
			c.pods(pod("p3", 3, 2000, on("a")), pod("p2", 2, 2000, on("a")), pod("p1", 1, 2000, on("a")))
		}, []string{"important to a: p2 p1"}},
		"of equals, those that started last": {func(c *cluster) {
			c.nodes(6000, "a")
			c.pods(pod("new", 1, 2000, on("a"), startedAt(9)), pod("old", 1, 2000, on("a"), startedAt(1)),
				pod("mid", 1, 2000, on("a"), startedAt(5)))
		}, []string{"important to a: mid new"}},
		"one that has not started goes before one that has": {func(c *cluster) {
			c.nodes(8000, "a")
			c.pods(pod("fresh", 1, 4000, on("a")), pod("old", 1, 4000, on("a"), startedAt(-1)))
		}, []string{"important to a: fresh"}},
		"not a protected pod, where another one will do": {func(c *cluster) {
			c.nodes(8000, "a")
			c.pods(pod("guarded", 1, 4000, on("a"), labelled("db")), pod("free", 50, 4000, on("a")))
			c.budget("db", 0)
		}, []string{"important to a: free"}},
		"a protected pod, when nothing else helps, and first": {func(c *cluster) {
			c.nodes(4000, "a")
			c.pods(pod("guarded", 1, 2000, on("a"), labelled("db")), pod("free", 50, 2000, on("a")))
			c.budget("db", 0)
		}, []string{"important to a: guarded! free"}},
		"as many of a budget as it allows": {func(c *cluster) {
			c.nodes(8000, "a")
			c.pods(pod("db-1", 1, 2000, on("a"), labelled("db"), startedAt(1)), pod("db-2", 1, 2000, on("a"), labelled("db"), startedAt(2)),
				pod("free-1", 2, 2000, on("a")), pod("free-2", 2, 2000, on("a")))
			c.budget("db", 1)
		}, []string{"important to a: free-2 db-1"}},
		"on the node with the fewest protected": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("guarded", 1, 4000, on("a"), labelled("db")), pod("free", 99, 4000, on("b")))
			c.budget("db", 0)
		}, []string{"important to b: free"}},
		"then with the lowest highest priority": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("p9", 9, 4000, on("a")), pod("p8-1", 8, 1000, on("b")), pod("p8-2", 8, 3000, on("b")))
		}, []string{"important to b: p8-1 p8-2"}},
		"then with the smallest sum of priorities": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("a9", 9, 2000, on("a")), pod("a8", 8, 2000, on("a")), pod("b9", 9, 2000, on("b")), pod("b1", 1, 2000, on("b")))
		}, []string{"important to b: b9 b1"}},
		"fewer are better than more, below zero as well": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("a1", -9, 2000, on("a")), pod("a2", -9, 2000, on("a")), pod("b1", -9, 4000, on("b")))
		}, []string{"important to b: b1"}},
		"then where the highest of them started last": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("a9", 9, 2000, on("a"), startedAt(3)), pod("a1", 1, 2000, on("a"), startedAt(4)),
				pod("b9", 9, 2000, on("b"), startedAt(5)), pod("b1", 1, 2000, on("b"), startedAt(1)))
		}, []string{"important to b: b9 b1"}},
		"then by name": {func(c *cluster) {
			c.nodes(4000, "b", "a")
			c.pods(pod("b1", 1, 4000, on("b")), pod("a1", 1, 4000, on("a")))
		}, []string{"important to a: a1"}},
		"never a DaemonSet's pod, nor a static one": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			static := pod("static", 0, 4000, on("b"))
			static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			c.pods(pod("agent", 0, 4000, on("a"), ownedBy("DaemonSet")), static)
		}, nil},
		"pods of other schedulers as well": {func(c *cluster) {
			c.nodes(4000, "a")
			c.pods(pod("theirs", 0, 4000, on("a"), func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }))
		}, []string{"important to a: theirs"}},
		"nobody, where a pod leaves anyway": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("below", 0, 4000, on("a")), pod("going", 500, 4000, on("b"), leavingAt(start.Add(30*time.Second))))
		}, []string{"important to b:"}},
		"one that leaves counts as gone": {func(c *cluster) {
			c.nodes(4000, "a")
			c.pods(pod("below", 0, 2000, on("a")), pod("going", 0, 2000, on("a"), leavingAt(start.Add(30*time.Second))))
		}, []string{"important to a: below"}},
		"one that should have left long ago stays": {func(c *cluster) {
			c.nodes(4000, "a", "b")
			c.pods(pod("below", 0, 4000, on("a")), pod("stuck", 0, 4000, on("b"), leavingAt(start.Add(-30*time.Second))))
		}, []string{"important to a: below"}},
		"a DaemonSet's pod that leaves is followed by another": {func(c *cluster) {
			c.nodes(4000, "a")
			c.pods(pod("agent", 0, 4000, on("a"), ownedBy("DaemonSet"), leavingAt(start.Add(time.Second))))
		}, nil},
		"nobody on a node that is being released, or still starting": {func(c *cluster) {
			for _, taint := range []string{v1alpha1.ReleasingTaint, v1alpha1.StartingTaint} {
				n := node("n"+taint, 4000)
				n.Spec.Taints = []corev1.Taint{{Key: taint, Effect: corev1.TaintEffectNoSchedule}}
				c.SetNode(n, start)
				c.pods(pod("below"+taint, 0, 4000, on(n.Name)))
			}
		}, nil},
		"nobody on a node whose taint the pod does not tolerate": {func(c *cluster) {
			n := node("a", 4000)
			n.Spec.Taints = []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}}
			c.SetNode(n, start)
			c.pods(pod("below", 0, 4000, on("a")))
		}, nil},
		"nobody of a pool that is spared": {func(c *cluster) {
			for _, name := range []string{"spared", "other"} {
				n := node(name, 4000)
				n.Labels[v1alpha1.PoolLabel] = name
				c.SetNode(n, start)
				p := &v1alpha1.NodePool{}
				p.Name, p.Spec.Preemption = name, v1alpha1.PreemptionNever
				if name == "other" {
					p.Spec.Preemption = v1alpha1.PreemptionAllowed
				}
				c.SetPool(p)
			}
			c.pods(pod("cheap", 0, 4000, on("spared")), pod("dear", 99, 4000, on("other")))
		}, []string{"important to other: dear"}},
		"nobody of a pool whose releases are frozen": {func(c *cluster) {
			for _, name := range []string{"frozen", "other"} {
				n := node(name, 4000)
				n.Labels[v1alpha1.PoolLabel] = name
				c.SetNode(n, start)
			}
			c.SetFreeze(gate.ParseFreeze(map[string]string{"releases": "frozen", "provisioning": "other"}))
			c.pods(pod("cheap", 0, 4000, on("frozen")), pod("dear", 99, 4000, on("other")))
		}, []string{"important to other: dear"}},
		"nobody at all while all releases are frozen": {func(c *cluster) {
			c.nodes(4000, "a")
			c.SetFreeze(gate.ParseFreeze(map[string]string{"releases": "*"}))
			c.pods(pod("below", 0, 4000, on("a")))
		}, nil},
		"nobody for room that is held by a pod of lower priority": {func(c *cluster) {
			c.nodes(4000, "a")
			c.pods(pod("held", 0, 4000, func(p *corev1.Pod) { p.Status.NominatedNodeName = "a" }))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t)
			c.setup(cl)
			cl.wants(pod("important", 100, 4000))
			d := cl.decide()
			require.Equal(t, c.want, moves(d))
			if c.want == nil {
				require.Equal(t, map[types.UID]capacity.Reason{"important": {Code: capacity.CodeNoVictims}}, d.Refused)
			}
		})
	}
}

func TestWhoMayNotAsk(t *testing.T) {
	for name, c := range map[string]struct {
		edit podEdit
		want capacity.Code
	}{
		"preemptionPolicy Never":                              {func(p *corev1.Pod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) }, capacity.CodePreemptNever},
		"a pod of a guarded scheduler, which preempts itself": {func(p *corev1.Pod) { p.Spec.SchedulerName = "default-scheduler" }, capacity.CodeNotOurs},
		"a pod that cannot be judged":                         {func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }, capacity.CodeResourceClaims},
	} {
		t.Run(name, func(t *testing.T) {
			cl := newCluster(t)
			cl.nodes(4000, "a")
			cl.pods(pod("below", 0, 4000, on("a")))
			cl.wants(pod("important", 100, 4000, c.edit))
			d := cl.decide()
			require.Empty(t, d.Moves)
			require.Equal(t, c.want, d.Refused["important"].Code)
		})
	}
}

func TestNodesThatWereTriedInVainAreLeftOut(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(4000, "a", "b")
	cl.pods(pod("a1", 1, 4000, on("a")), pod("b1", 50, 4000, on("b")))
	cl.wants(pod("important", 100, 4000), pod("second", 90, 4000))
	v := cl.View()
	all := asks(v)
	all[0].Not = sets.New("a")
	require.Equal(t, []string{"important to b: b1", "second to a: a1"}, moves(preemption.Decide(v, all, 100, start)))
	all[0].Not = sets.New("a", "b")
	d := preemption.Decide(v, all, 100, start)
	require.Equal(t, []string{"second to a: a1"}, moves(d))
	require.Equal(t, capacity.CodeNoVictims, d.Refused["important"].Code)
}

// A node that the scheduler's own filters refuse, although nothing that pods could change stands in the way.
func TestNodesThatAreRefusedForUnknownReasonsAreLeftOut(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(4000, "a", "b")
	cl.pods(pod("a1", 1, 4000, on("a")), pod("b1", 50, 4000, on("b")))
	cl.wants(pod("important", 100, 4000))
	v := cl.View()
	v.Shortfalls[0].Refused, v.Shortfalls[0].Called = sets.New("a"), start.Add(time.Minute)
	require.Equal(t, []string{"important to b: b1"}, moves(preemption.Decide(v, asks(v), 100, start)))
}

func TestSeveralPodsShareWhatIsThere(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(4000, "a", "b", "c")
	cl.pods(pod("a1", 1, 4000, on("a")), pod("b1", 2, 4000, on("b")), pod("c1", 3, 4000, on("c"), labelled("db")))
	cl.budget("db", 1)
	cl.wants(pod("third", 10, 4000), pod("first", 30, 4000), pod("second", 20, 4000), pod("fourth", 5, 4000))
	d := cl.decide()
	require.Equal(t, []string{"first to a: a1", "second to b: b1", "third to c: c1"}, moves(d))
	require.Equal(t, map[types.UID]capacity.Reason{"fourth": {Code: capacity.CodeNoVictims}}, d.Refused)
	require.False(t, d.More)

	v := cl.View()
	d = preemption.Decide(v, asks(v), 2, start)
	require.Equal(t, []string{"first to a: a1", "second to b: b1"}, moves(d))
	require.True(t, d.More, "the others wait for the next pass")
	require.Empty(t, d.Refused)
}

func TestABudgetIsSharedByThePodsOfOnePass(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(4000, "a", "b")
	cl.pods(pod("a1", 1, 4000, on("a"), labelled("db")), pod("b1", 1, 4000, on("b"), labelled("db")))
	cl.budget("db", 1)
	cl.wants(pod("first", 30, 4000), pod("second", 20, 4000))
	require.Equal(t, []string{"first to a: a1", "second to b: b1!"}, moves(cl.decide()))
}

func TestRoomThatIsFreedIsTakenByThePodsAfter(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(4000, "a")
	cl.pods(pod("a1", 1, 4000, on("a")))
	cl.wants(pod("first", 30, 3000), pod("second", 20, 1000))
	require.Equal(t, []string{"first to a: a1", "second to a:"}, moves(cl.decide()), "one eviction serves both")
}

func TestVictimsInTheMiddleOfAPassAreNotVictimsAgain(t *testing.T) {
	cl := newCluster(t)
	cl.nodes(8000, "a")
	cl.pods(pod("a1", 1, 4000, on("a")), pod("a2", 2, 4000, on("a")))
	cl.wants(pod("first", 30, 4000), pod("second", 20, 4000), pod("third", 10, 4000))
	d := cl.decide()
	require.Equal(t, []string{"first to a: a1", "second to a: a2"}, moves(d))
	require.Contains(t, d.Refused, types.UID("third"))
}

func TestABudgetThatAllowsSomeOfTheEvictionsIsNamed(t *testing.T) {
	for allowed, want := range map[int32]bool{0: false, 1: true, 2: false} {
		cl := newCluster(t)
		cl.nodes(4000, "a")
		cl.pods(pod("db-1", 1, 2000, on("a"), labelled("db")), pod("db-2", 1, 2000, on("a"), labelled("db")))
		cl.budget("db", allowed)
		cl.wants(pod("important", 100, 4000))
		d := cl.decide()
		require.Len(t, d.Moves[0].Victims, 2)
		require.Equal(t, want, d.Moves[0].Short != nil, "%d allowed", allowed)
	}
}

// The gate asks whether releases of the pool are frozen.
func TestAMoveNamesThePoolOfItsNode(t *testing.T) {
	c := newCluster(t)
	n := node("a", 4000)
	n.Labels[v1alpha1.PoolLabel] = "general"
	c.SetNode(n, start)
	c.pods(pod("below", 0, 4000, on("a")))
	c.wants(pod("important", 100, 4000))
	d := c.decide()
	require.Len(t, d.Moves, 1)
	require.Equal(t, "general", d.Moves[0].Pool)
}
