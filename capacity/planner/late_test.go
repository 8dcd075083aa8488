package planner

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// A plan with little effort is a part of one: what it buys is within the limits and for pods that are not bought for
// twice, and plan after plan gets to every pod.
func TestPlansWithLittleEffortGetToEveryPodInTheEnd(t *testing.T) {
	eachWorld(t, func(t *testing.T, _ int64, w *world) {
		fates := map[types.UID]capacity.Outcome{}
		late := map[types.UID]bool{}
		for pass := 0; ; pass++ {
			require.Less(t, pass, 40, "every pass gets to some pods")
			v := w.view(0, object.Start)
			for _, s := range v.Shortfalls {
				s.Late = late[s.Pod.UID]
			}
			plan := PlanWithin(v, object.Start, int64(60<<pass))
			w.apply(plan, object.Start)
			for _, p := range w.pools {
				checkLimits(t, w, p, plan)
			}
			for uid, o := range plan.Outcomes {
				late[uid] = o.Reason.Code == capacity.CodeNotReached
				require.False(t, fates[uid].Fate == capacity.Ordered && o.Fate == capacity.Ordered, "%s is bought for twice", uid)
				fates[uid] = o
			}
			if plan.Late == 0 {
				break
			}
			require.Positive(t, plan.Next)
		}
	})
}

// Of pods of one priority those that the last plan left out come first; a more important one comes before them.
func TestPodsThatWereNotReachedComeFirst(t *testing.T) {
	w := newWorld(object.Pool("p", 99, object.Shape("s", "cpu", "4", "memory", "8Gi")))
	for i := range 60 {
		w.pending(fmt.Sprintf("set%d", i), 1, "cpu", fmt.Sprintf("%dm", 3000-i))[0].Spec.TopologySpreadConstraints =
			object.SpreadOver(object.Pod("x"), corev1.LabelHostname, corev1.DoNotSchedule).Spec.TopologySpreadConstraints
	}
	v := w.view(0, object.Start)
	first, effort := capacity.Plan{}, int64(10)
	for ; first.Late == 0 || first.Late == 60; effort++ {
		require.Less(t, effort, int64(5000), "some effort gets to a part of the pods")
		first = PlanWithin(v, object.Start, effort)
	}
	for _, s := range v.Shortfalls {
		s.Late = first.Outcomes[s.Pod.UID].Reason.Code == capacity.CodeNotReached
	}
	second := PlanWithin(v, object.Start, effort)
	again := 0
	for uid, o := range second.Outcomes {
		if o.Reason.Code == capacity.CodeNotReached && first.Outcomes[uid].Reason.Code == capacity.CodeNotReached {
			again++
		}
	}
	require.Less(t, again, first.Late, "the second plan begins where the first ended")
}

// Important pods that no pool can help do not use up the effort of one plan after the other.
func TestPodsThatNothingHelpsDoNotStarveTheOthers(t *testing.T) {
	w := newWorld(object.Pool("p", 99, object.Shape("s", "cpu", "4", "memory", "8Gi")))
	for i := range 40 {
		w.nodes = append(w.nodes, object.Node(fmt.Sprintf("n%d", i), "cpu", "8", "memory", "16Gi"))
		vital := w.pending(fmt.Sprintf("vital%d", i), 1, "cpu", fmt.Sprintf("%dm", 3000-i))[0]
		vital.Spec.Priority, vital.Spec.NodeSelector = new(int32(100)), map[string]string{"there": "is none"}
	}
	w.pending("web", 3, "cpu", "1")
	v := w.view(0, object.Start)
	effort := int64(2000) // the vital pods are looked at on 40 nodes each
	first := PlanWithin(v, object.Start, effort)
	require.Equal(t, capacity.CodeNotReached, first.Outcomes["web-0"].Reason.Code)
	for pass := 0; ; pass++ {
		require.Less(t, pass, 6)
		plan := PlanWithin(v, object.Start, effort)
		for _, s := range v.Shortfalls {
			s.NotePlanned(plan.Outcomes[s.Pod.UID])
		}
		if plan.Outcomes["web-0"].Fate == capacity.FitsNow {
			require.Equal(t, capacity.FitsNow, plan.Outcomes["web-2"].Fate)
			return
		}
	}
}
