package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

func small() v1alpha1.Shape { return object.Shape("small", "cpu", "4", "memory", "8Gi") }

func TestAPlanWithoutShortfallsIsEmpty(t *testing.T) {
	plan := newWorld(object.Pool("p", 3, small())).plan()
	require.Empty(t, plan.Creates)
	require.Empty(t, plan.Reserve)
	require.Empty(t, plan.Outcomes)
	require.Zero(t, plan.Next)
}

func TestACreateIsReadyToBeWritten(t *testing.T) {
	w := newWorld(object.Pool("p", 3, small()))
	w.pending("web", 2, "cpu", "1", "memory", "1Gi")
	plan := w.plan()
	require.Len(t, plan.Creates, 1)
	c := plan.Creates[0].Claim
	require.Equal(t, "p-000", c.Name)
	require.Equal(t, []string{v1alpha1.ClaimFinalizer}, c.Finalizers)
	require.Equal(t, "sim", c.Spec.Provider)
	require.Equal(t, []v1alpha1.PodReference{
		{Namespace: "default", Name: "web-0", UID: "web-0"}, {Namespace: "default", Name: "web-1", UID: "web-1"},
	}, c.Spec.Reserved)
	require.InDelta(t, 0.010+4*0.030+8*0.004, plan.Creates[0].Cost, 1e-9)
	require.Empty(t, c.Status.State)
}

func TestARoomThatTheSchedulerIgnoredCountsForNodesOfThatTimeOnly(t *testing.T) {
	w := newWorld(object.Pool("p", 3, small()))
	w.nodes = append(w.nodes, object.Node("old", "cpu", "8", "memory", "8Gi"))
	w.pending("web", 1, "cpu", "2")
	for name, c := range map[string]struct {
		ignored time.Time
		want    capacity.Fate
	}{
		"the node came after the wake-ups": {object.Start.Add(-time.Second), capacity.FitsNow},
		"the node was there already":       {object.Start, capacity.Ordered},
	} {
		t.Run(name, func(t *testing.T) {
			v := w.view(0, object.Start)
			v.Shortfalls[0].RefusedUntil = c.ignored
			require.Equal(t, c.want, Plan(v, object.Start).Outcomes["web-0"].Fate)
		})
	}
}

func TestAClaimListsNoMorePodsThanItMay(t *testing.T) {
	shape := object.Shape("wide", "cpu", "4", "memory", "8Gi", "pods", "5000")
	w := newWorld(object.Pool("p", 2, shape))
	w.pending("tiny", 1500)
	plan := w.plan()
	require.Len(t, plan.Creates, 2)
	require.Len(t, plan.Creates[0].Claim.Spec.Reserved, 1000)
	require.Len(t, plan.Creates[1].Claim.Spec.Reserved, 500)

	w.apply(plan, object.Start)
	w.pending("more", 600)
	plan = w.plan()
	require.Len(t, plan.Reserve, 1)
	require.Equal(t, "p-001", plan.Reserve[0].Claim.Name)
	require.Len(t, plan.Reserve[0].Pods, 500)
	require.Equal(t, 1500+600-100, served(plan))
}

func TestNextIsTheEndOfTheFirstBackOffThatSomebodyWaitsFor(t *testing.T) {
	w := newWorld(object.Pool("a", 3, small()), object.Pool("b", 3, small()))
	for i, left := range []time.Duration{3 * time.Minute, time.Minute} {
		c := capacity.NewClaim(w.pools[i], small(), 0)
		c.Status.State, c.Status.NextAttempt = v1alpha1.ClaimFailed, object.Micro(object.Start.Add(left))
		w.claims = append(w.claims, c)
	}
	require.Zero(t, w.plan().Next, "nobody waits")
	w.pending("web", 1, "cpu", "1")
	plan := w.plan()
	require.Equal(t, time.Minute, plan.Next)
	require.Equal(t, capacity.CodePoolBackoff, plan.Outcomes["web-0"].Reason.Code)
	later := Plan(w.view(0, object.Start), object.Start.Add(time.Minute))
	require.Zero(t, later.Next)
	require.Equal(t, capacity.Outcome{Fate: capacity.Ordered, Claim: "b-001"}, later.Outcomes["web-0"])
}

func TestAViewIsNotChangedByAPlan(t *testing.T) {
	for seed := range int64(20) {
		w := randomWorld(seed)
		v := w.view(0, object.Start)
		first := Plan(v, object.Start)
		require.Equal(t, planText(first), planText(Plan(v, object.Start)))
		require.Equal(t, w.view(0, object.Start).Nodes, v.Nodes)
	}
}

func TestABurstOfFiveSizesIsPackedTightly(t *testing.T) {
	w := newWorld(object.Pool("p", 200, object.Shape("m", "cpu", "8", "memory", "16Gi")))
	for i, cpu := range []string{"250m", "500m", "1", "2", "3"} {
		w.pending(fmt.Sprintf("size%d", i), 60, "cpu", cpu, "memory", "256Mi")
	}
	plan := w.plan()
	require.Equal(t, 300, served(plan))
	// 405 cores are asked for: no fewer than 51 machines of 8 cores hold them.
	require.LessOrEqual(t, len(plan.Creates), 51)
}

func TestPodsOfTheHighestPriorityAreServedFirst(t *testing.T) {
	w := newWorld(object.Pool("p", 1, small()))
	w.pending("low", 4, "cpu", "2")
	for _, p := range w.pending("high", 2, "cpu", "1500m") {
		p.Spec.Priority = new(int32(1000))
	}
	plan := w.plan()
	for _, uid := range []types.UID{"high-0", "high-1"} {
		require.Equal(t, capacity.Ordered, plan.Outcomes[uid].Fate)
	}
	require.Equal(t, 2, served(plan))
}

func TestDaemonSetsThatNeedMoreThanAMachineHasMakeItUseless(t *testing.T) {
	w := newWorld(object.Pool("p", 3, small()))
	w.pools[0].Spec.Limits.MinNodes = 1
	w.daemons = append(w.daemons, object.DaemonSet("greedy", "cpu", "5"))
	w.pending("tiny", 1)
	plan := w.plan()
	require.Empty(t, plan.Creates)
	require.Equal(t, "no pool can take it: p: no shape is large enough: DaemonSets take more than small has",
		plan.Outcomes["tiny-0"].String())
}

func TestAReasonNamesWhatTheLargestShapeOffers(t *testing.T) {
	w := newWorld(object.Pool("p", 3, small(), object.Shape("disk", "cpu", "2", "memory", "4Gi", "ephemeral-storage", "10Gi")))
	w.pools[0].Spec.Template.Overhead = corev1.ResourceList{"memory": resource.MustParse("1Gi")}
	w.pending("cpu", 1, "cpu", "5")
	w.pending("memory", 1, "memory", "8Gi")
	w.pending("disk", 1, "ephemeral-storage", "11Gi")
	w.pending("huge", 1, "hugepages-2Mi", "1Gi")
	plan := w.plan()
	for uid, want := range map[types.UID]capacity.Reason{
		"cpu-0":    {Code: capacity.CodeTooLarge, Detail: "small offers cpu 4"},
		"memory-0": {Code: capacity.CodeTooLarge, Detail: "small offers memory 7Gi"},
		"disk-0":   {Code: capacity.CodeTooLarge, Detail: "disk offers ephemeral-storage 10Gi"},
		"huge-0":   {Code: capacity.CodeInsufficient, Detail: "hugepages-2Mi"},
	} {
		require.Equal(t, want, plan.Outcomes[uid].Reason)
	}
}

func TestAPlanThatComparesNoMoreServesNoFewer(t *testing.T) {
	for seed := range int64(50) {
		w := randomWorld(seed)
		for _, p := range w.pools {
			p.Spec.Limits, p.Spec.ScaleUp.MaxInFlight = v1alpha1.Limits{MaxNodes: 1000}, 0
		}
		p := newPlanner(w.view(0, object.Start), object.Start)
		for _, s := range inOrder {
			full, tired := p.market.newDraft(p.batches, s), p.market.newDraft(p.batches, s)
			tired.effort = maxEffort
			full.fillAll()
			tired.fillAll()
			require.Equal(t, full.bill.Served, tired.bill.Served, "seed %d", seed)
		}
	}
}
