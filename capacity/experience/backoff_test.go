package experience_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/planner"
)

// failing is a pool of two shapes whose machines cannot be had.
func failing() *trial {
	pool := object.Pool("p", 9, object.Shape("small", "cpu", "4", "memory", "8Gi"), object.Shape("large", "cpu", "8", "memory", "16Gi"))
	return newTrial(pool, object.Start)
}

// fails has machines fail for which claims were written now.
func (tr *trial) fails(class, shape string, kept time.Duration, slots ...int) {
	for _, slot := range slots {
		var from v1alpha1.Shape
		for _, s := range tr.pool.Spec.Template.Shapes {
			if s.Name == shape {
				from = s
			}
		}
		c := object.InState(capacity.NewClaim(tr.pool, from, slot), v1alpha1.ClaimFailed)
		c.UID, c.CreationTimestamp = types.UID(fmt.Sprint(c.Name, tr.Now.UnixNano())), metav1.NewTime(tr.Now)
		tr.Now = tr.Now.Add(time.Second)
		c.Status.NextAttempt, c.Status.Message = object.Micro(tr.Now.Add(kept)), "no host has room"
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionLaunched, Status: metav1.ConditionFalse, Reason: class}}
		tr.SetClaim(c)
	}
}

// endure lets the claims that failed go, as their lifecycle does when they were kept for long enough.
func (tr *trial) endure(d time.Duration) {
	tr.Now = tr.Now.Add(d)
	for _, c := range tr.View().Claims {
		if next := c.Object.Status.NextAttempt; next != nil && !next.After(tr.Now) {
			tr.ForgetClaim(c.Object.Name, c.Object.UID)
		}
	}
}

func (tr *trial) waits() []v1alpha1.PoolBackoff {
	v := tr.View()
	r := experience.Of(v, tr.Now)
	tr.pool = tr.pool.DeepCopy()
	tr.pool.Status.Template, tr.pool.Status.Backoffs = v.Template(tr.pool).Hash, r.Backoffs["p"]
	tr.SetPool(tr.pool)
	return tr.pool.Status.Backoffs
}

func TestFailuresOfAClassAreWaitedOutLongerEachTime(t *testing.T) {
	tr := failing()
	tr.refused("a", "cpu", "1")
	var waited []time.Duration
	for range 5 {
		tr.fails("LaunchRefused", "small", 10*time.Minute, 0, 1, 2)
		left := tr.waits()[0].Until.Sub(tr.Now)
		waited = append(waited, left)
		require.Equal(t, capacity.CodePoolBackoff, planner.Plan(tr.View(), tr.Now).Outcomes["a"].Reason.Code)
		tr.endure(left - time.Nanosecond)
		require.Empty(t, planner.Plan(tr.View(), tr.Now).Creates, "also when the claims that failed are gone")
		tr.endure(time.Second)
		tr.waits()
		require.Len(t, planner.Plan(tr.View(), tr.Now).Creates, 1)
	}
	require.InDelta(t, 10, waited[0].Minutes(), 0.1, "the three of one wave count once")
	require.IsIncreasing(t, waited[:4])
	require.InDelta(t, 80, waited[4].Minutes(), 20.1)
	require.EqualValues(t, 5, tr.pool.Status.Backoffs[0].Failures)
	tr.endure(experience.BackoffsKept)
	require.Empty(t, tr.waits(), "long ago")
}

func TestClassesAreCountedApart(t *testing.T) {
	tr := failing()
	tr.fails("LaunchRefused", "small", 10*time.Minute, 0)
	tr.fails("RegistrationTimeout", "small", 10*time.Minute, 1)
	waits := tr.waits()
	require.Len(t, waits, 2)
	require.Equal(t, []string{"LaunchRefused", "RegistrationTimeout"}, []string{waits[0].Class, waits[1].Class})
	require.EqualValues(t, 1, waits[0].Failures)
}

func TestASmallerShapeIsTriedWhereThereIsNoRoomForALargeOne(t *testing.T) {
	tr := failing()
	tr.refused("a", "cpu", "6")
	tr.refused("b", "cpu", "2")
	tr.fails("NoCapacity", "large", time.Minute, 0)
	require.Equal(t, "large", tr.waits()[0].Shape)
	plan := planner.Plan(tr.View(), tr.Now)
	require.Len(t, plan.Creates, 1)
	require.Equal(t, "small", plan.Creates[0].Claim.Spec.Shape)
	require.Equal(t, capacity.Reason{Code: capacity.CodePoolBackoff, Detail: "NoCapacity"}, plan.Outcomes["a"].Reason)
	require.Equal(t, time.Minute, plan.Next)

	tr.fails("NoCapacity", "small", time.Minute, 1)
	require.Len(t, tr.waits(), 2)
	tr.endure(59 * time.Second)
	require.Empty(t, planner.Plan(tr.View(), tr.Now).Creates, "where the small one is not to be had, the large one is not")
	tr.endure(time.Second)
	require.NotEmpty(t, planner.Plan(tr.View(), tr.Now).Creates)
}

func TestASuccessEndsTheWait(t *testing.T) {
	tr := failing()
	tr.fails("NoCapacity", "small", time.Minute, 0)
	tr.fails("MachineFailed", "small", 10*time.Minute, 1)
	require.Len(t, tr.waits(), 2)
	tr.endure(time.Hour)
	later := capacity.NewClaim(tr.pool, tr.pool.Spec.Template.Shapes[0], 2)
	later.UID, later.Status.LaunchedAt = "later", object.Micro(tr.Now)
	tr.SetClaim(object.InState(later, v1alpha1.ClaimLaunching))
	waits := tr.waits()
	require.Len(t, waits, 1, "there was capacity")
	require.Equal(t, "MachineFailed", waits[0].Class)
	later = later.DeepCopy()
	later.Status.ReadyAt = object.Micro(tr.Now)
	tr.SetClaim(object.InState(later, v1alpha1.ClaimReady))
	require.Empty(t, tr.waits())
}

func TestAWaitOutlivesARestartAndNotAnotherTemplate(t *testing.T) {
	old := failing()
	old.fails("LaunchRefused", "small", 10*time.Minute, 0)
	old.waits()
	tr := newTrial(old.pool, old.Now)
	tr.refused("a", "cpu", "1")
	require.Empty(t, planner.Plan(tr.View(), tr.Now).Creates)
	tr.pool.Spec.Template.Labels = map[string]string{"mended": "yes"}
	tr.SetPool(tr.pool)
	require.Len(t, planner.Plan(tr.View(), tr.Now).Creates, 1)
	require.Empty(t, tr.waits())
}

// A claim that failed by a clock that was ten years ahead makes its pool wait as long as any other.
func TestM19AFailureFromTheFutureMakesNoLongerWait(t *testing.T) {
	tr := failing()
	tr.fails("NoCapacity", "small", 10*365*24*time.Hour, 0)
	waits := tr.waits()
	require.Len(t, waits, 1)
	require.LessOrEqual(t, waits[0].Until.Sub(tr.Now), time.Minute)
}
