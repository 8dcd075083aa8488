package shadow_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/shadow"
	"github.com/muster-sh/muster/policy"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// world is a cluster with one pool, and a shadow of it.
type world struct {
	t      *testing.T
	live   *capacity.Live
	shadow *shadow.Shadow
	now    time.Time
	pool   *v1alpha1.NodePool
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse("110"),
	}
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: start, live: capacity.NewLive(capacity.Schedulers{Guard: sets.New(corev1.DefaultSchedulerName)})}
	price := resource.MustParse("0.50")
	w.pool = &v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pool"},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "nobody", Limits: v1alpha1.Limits{MaxNodes: 5},
			Template:  v1alpha1.NodeTemplate{Shapes: []v1alpha1.Shape{{Name: "m", Resources: resources("4", "16Gi"), Price: &price}}},
			ScaleDown: v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: 10 * time.Minute}},
		},
	}
	w.live.SetPool(w.pool)
	w.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "nobody"}})
	w.shadow = &shadow.Shadow{
		Live: w.live, Log: slog.New(slog.DiscardHandler), Boot: 2 * time.Minute,
		Batch: policy.Batch{Idle: time.Second, Max: 10 * time.Second},
	}
	return w
}

// pass lets time pass, a second at a time.
func (w *world) pass(d time.Duration) shadow.Report {
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(time.Second)
		w.shadow.Tick(w.t.Context(), w.now)
	}
	return w.shadow.Report(w.now)
}

func (w *world) node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name), Labels: map[string]string{v1alpha1.PoolLabel: "p"}},
		Status:     corev1.NodeStatus{Allocatable: resources("3800m", "15Gi")},
	}
	for _, c := range change {
		c(n)
	}
	w.live.SetNode(n, w.now)
	return n
}

// pod is one that waits, or runs on a node.
func (w *world) pod(name, cpu, node string) {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(w.now),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node, SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	w.live.SetPod(p, w.now)
}

func TestAMachineIsProposedOnceAndEndsWhenItsPodsRunElsewhere(t *testing.T) {
	w := newWorld(t)
	for i := range 4 {
		w.pod(fmt.Sprintf("web-%d", i), "1", "")
	}
	r := w.pass(time.Hour)
	require.Len(t, r.Machines, 1, "asked for every second for an hour")
	m := r.Machines[0]
	require.Equal(t, "p-000 p m 0.5", fmt.Sprint(m.Name, " ", m.Pool, " ", m.Shape, " ", m.Cost))
	require.Len(t, m.Pods, 4)
	require.Equal(t, 2*time.Minute, m.Ready.Sub(m.Ordered))
	require.Equal(t, 4, r.WaitingPods)
	require.Equal(t, "MachineOrdered", r.Waiting[0].Reason)
	require.Equal(t, "waits for machine p-000, ordered from pool p: m (4 cpu, 16Gi memory)", r.Waiting[0].Message)
	require.Equal(t, 4, r.Totals.PodsHelped)
	require.InDelta(t, 4*time.Hour.Seconds()-4*120, r.Totals.WaitSaved, 20)

	w.node("other", func(n *corev1.Node) { n.Labels = nil })
	for i := range 4 {
		w.pod(fmt.Sprintf("web-%d", i), "900m", "other")
	}
	before := r.Totals
	r = w.pass(time.Hour)
	require.Empty(t, r.Machines)
	require.Zero(t, r.WaitingPods)
	require.Len(t, r.EndedMachines, 1)
	require.Equal(t, shadow.WhyServed, r.EndedMachines[0].Why)
	require.Equal(t, "other", r.EndedMachines[0].Pods[0].Node)
	require.InDelta(t, before.WaitSaved, r.Totals.WaitSaved, 8, "what a pod waited ends when it is bound")
	require.Equal(t, 1, r.Totals.Purchases)
	require.InDelta(t, 0.5, r.Totals.Cost, 0.01)
	require.Nil(t, w.live.Claim("p-000"), "its slot is free again")
}

func TestAProposalEndsWhenItsPodsVanish(t *testing.T) {
	w := newWorld(t)
	w.pod("web", "1", "")
	require.Len(t, w.pass(time.Minute).Machines, 1)
	w.live.ForgetPod("web")
	r := w.pass(time.Minute)
	require.Empty(t, r.Machines)
	require.Equal(t, shadow.WhyGone, r.EndedMachines[0].Why)
	require.Zero(t, r.Totals.PodsHelped, "it was gone before the machine was ready")
}

func TestProposalsStayBelowTheLimitNodesThatExistIncluded(t *testing.T) {
	w := newWorld(t)
	w.node("old-1")
	w.node("old-2")
	w.pod("busy-1", "3", "old-1")
	w.pod("busy-2", "3", "old-2")
	for i := range 10 {
		w.pod(fmt.Sprintf("web-%d", i), "3", "")
	}
	r := w.pass(10 * time.Minute)
	require.Len(t, r.Machines, 3, "of five that the pool may have, two are there")
	require.Equal(t, 10, r.WaitingPods)
}

func TestAPodThatNobodyCanServeIsToldWhy(t *testing.T) {
	w := newWorld(t)
	w.pod("huge", "64", "")
	r := w.pass(time.Minute)
	require.Empty(t, r.Machines)
	require.Equal(t, string(capacity.CodeTooLarge), r.Waiting[0].Reason, r.Waiting[0].Message)
}

func TestAnIdleNodeIsReleasedOnceAndEndsWhenAPodComes(t *testing.T) {
	w := newWorld(t)
	w.node("idle")
	w.node("foreign", func(n *corev1.Node) { n.Labels = nil })
	require.Empty(t, w.pass(9*time.Minute).Nodes)
	r := w.pass(time.Hour)
	require.Len(t, r.Nodes, 1)
	n := r.Nodes[0]
	require.Equal(t, "idle p m 0.5 Idle", fmt.Sprint(n.Node, " ", n.Pool, " ", n.Shape, " ", n.Cost, " ", n.Reason))
	require.InDelta(t, 59.0/60, r.Totals.NodeHours, 0.02)
	require.InDelta(t, 0.5*59/60, r.Totals.Saved, 0.02)

	w.pod("web", "1", "idle")
	r = w.pass(time.Minute)
	require.Empty(t, r.Nodes)
	require.Equal(t, shadow.WhyUsed, r.EndedNodes[0].Why)
	require.Equal(t, 1, r.Totals.Releases)
}

func TestNodesThatASelectorNamesAreJudgedAsThePools(t *testing.T) {
	w := newWorld(t)
	selector, err := shadow.ParseSelector("p=tier in (batch),!keep")
	require.NoError(t, err)
	w.shadow.Nodes = []shadow.Selector{selector}
	w.node("one", func(n *corev1.Node) { n.Labels = map[string]string{"tier": "batch"} })
	w.node("two", func(n *corev1.Node) { n.Labels = map[string]string{"tier": "batch", "keep": ""} })
	w.node("odd", func(n *corev1.Node) {
		n.Labels, n.Status.Allocatable = map[string]string{"tier": "batch"}, resources("32", "64Gi")
	})
	r := w.pass(11 * time.Minute)
	require.Len(t, r.Nodes, 2)
	require.Equal(t, "odd (existing)", r.Nodes[0].Node+" "+r.Nodes[0].Shape, "it is no machine that the pool could buy")
	require.Equal(t, "one m", r.Nodes[1].Node+" "+r.Nodes[1].Shape)
	for _, bad := range []string{"p", "p=", "=a", "p=a=b=c"} {
		_, err := shadow.ParseSelector(bad)
		require.Error(t, err, bad)
	}
}

// Two nodes are under-used, and each would fit on the other: one of them goes, not both.
func TestPodsOfAReleasedNodeTakeRoomElsewhere(t *testing.T) {
	w := newWorld(t)
	w.node("a")
	w.node("b")
	w.pod("web-a", "1", "a")
	w.pod("web-b", "1", "b")
	r := w.pass(2 * time.Hour)
	require.Len(t, r.Nodes, 1)
	require.Len(t, r.Nodes[0].Pods, 1)
	require.Equal(t, "Underused", r.Nodes[0].Reason)
}

func TestANodeThatIsGoneIsNobodysAnyMore(t *testing.T) {
	w := newWorld(t)
	w.node("idle")
	require.Len(t, w.pass(11*time.Minute).Nodes, 1)
	w.live.ForgetNode("idle")
	r := w.pass(time.Minute)
	require.Empty(t, r.Nodes)
	require.Equal(t, shadow.WhyMissing, r.EndedNodes[0].Why)
	require.Nil(t, w.live.Claim("p-000"))
}

func TestAMinimumIsProposedUntilNodesKeepIt(t *testing.T) {
	w := newWorld(t)
	p := w.pool.DeepCopy()
	p.Spec.Limits.MinNodes = 1
	w.live.SetPool(p)
	w.pod("web", "64", "") // has a plan made
	r := w.pass(time.Minute)
	require.Len(t, r.Machines, 1)
	w.node("here")
	r = w.pass(20 * time.Minute)
	require.Empty(t, r.Machines)
	require.Equal(t, shadow.WhyEnough, r.EndedMachines[0].Why)
	require.Empty(t, r.Nodes, "it is the pool's minimum")
}

// Whatever comes and goes: never more machines than the limit, none twice, none without a pod that waits, no release of a
// node that runs a pod that was not to be moved, and totals that never fall.
func TestProposalsFollowRealityWhateverHappens(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := newWorld(t)
		var before shadow.Totals
		for step := range 100 {
			name, node := fmt.Sprintf("pod-%d", rng.IntN(12)), fmt.Sprintf("node-%d", rng.IntN(4))
			switch rng.IntN(6) {
			case 0:
				if w.live.Pod(types.UID(name)) == nil {
					w.pod(name, "1", "")
				}
			case 1:
				if p := w.live.Pod(types.UID(name)); p != nil && p.Node == "" {
					w.pod(name, "1", node)
				}
			case 2:
				w.live.ForgetPod(types.UID(name))
			case 3:
				w.node(node)
			case 4:
				if rng.IntN(4) == 0 {
					w.live.ForgetNode(node)
				}
			}
			r := w.pass(time.Duration(rng.IntN(90)+1) * time.Second)
			if claims, _ := w.live.Claims(); r.Totals.Purchases > before.Purchases {
				require.LessOrEqual(t, len(claims), 5, "seed %d step %d", seed, step)
			}
			for _, m := range r.Machines {
				some := false
				for _, p := range m.Pods {
					some = some || p.Until == nil
				}
				require.True(t, some, "seed %d step %d: nobody waits for %s", seed, step, m.Name)
			}
			require.GreaterOrEqual(t, r.Totals.Purchases, before.Purchases)
			require.GreaterOrEqual(t, r.Totals.Releases, before.Releases)
			require.GreaterOrEqual(t, r.Totals.Saved, before.Saved-0.002)
			before = r.Totals
		}
	}
}

func TestTheSameClusterGivesTheSameReport(t *testing.T) {
	play := func() string {
		w := newWorld(t)
		w.node("idle")
		w.node("busy")
		w.pod("runs", "3", "busy")
		for i := range 9 {
			w.pod(fmt.Sprintf("web-%d", i), "2", "")
		}
		text, err := json.Marshal(w.pass(30 * time.Minute))
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, play(), play())
}

func TestRunFollowsTheWallClockUntilItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.now = time.Now()
		done := make(chan struct{})
		ctx := t.Context()
		go func() { defer close(done); w.shadow.Run(ctx) }()
		time.Sleep(time.Second)
		w.pod("web", "1", "")
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Len(t, w.shadow.Report(time.Now()).Machines, 1)
	})
}

// A pod waits that does not fit on the idle node, and nothing changes for the rest of the story.
func TestAnIdleNodeIsReleasedWhileAMachineForOthersIsOnItsWay(t *testing.T) {
	w := newWorld(t)
	w.node("idle", func(n *corev1.Node) { n.Status.Allocatable = resources("2", "4Gi") })
	w.pod("large", "3", "")
	r := w.pass(30 * time.Minute)
	require.Len(t, r.Machines, 1)
	require.Len(t, r.Nodes, 1)
}
