package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// crowd is a pool at its limit of two machines of 4 CPUs, full of cheap pods of 2 CPUs, beside a node of nobody's pool
// with the cheapest pods of all, which the important pod must not go to.
type crowd struct {
	*stage.Stage
	muster    *stage.Replica
	cheap     []*corev1.Pod
	innocents []*corev1.Pod
}

func newCrowd(t *testing.T, edits ...func(*v1alpha1.NodePool)) *crowd {
	c := &crowd{Stage: stage.New(t, kit)}
	c.Backend()
	c.class("important", 1000)
	c.class("cheap", 10)
	c.class("cheapest", -10)
	c.Apply(stage.Pool("general", 2, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}, edits...))
	c.Node("foreign", stage.Resources("cpu", "4", "memory", "8Gi"), stage.Taint("example.com/theirs"))
	c.muster = c.Place(stage.ReplicaOptions{})
	for i := range 2 {
		c.innocents = append(c.innocents, c.Pod(fmt.Sprint("innocent-", i), stage.Resources("cpu", "2"), ofClass("cheapest"),
			stage.WithToleration("example.com/theirs"), stage.WithNodeSelector(corev1.LabelHostname, "foreign")))
	}
	for i := range 4 {
		c.cheap = append(c.cheap, c.Pod(fmt.Sprint("cheap-", i), stage.Resources("cpu", "2"), ofClass("cheap")))
	}
	c.innocents = c.Create(c.innocents...)
	c.cheap = c.Create(c.cheap...)
	c.AwaitRunning(soon, append(slices.Clone(c.innocents), c.cheap...)...)
	c.WholeAndPaired()
	require.Empty(t, c.Diary.Deleted())
	return c
}

func (c *crowd) class(name string, value int32) {
	_, err := c.Plane.Client.SchedulingV1().PriorityClasses().Create(c.Ctx, &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value,
	}, metav1.CreateOptions{})
	require.NoError(c.T, err)
}

func ofClass(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = name }
}

// homes are the nodes of the cheap pods, by their names.
func (c *crowd) homes() map[string]string {
	homes := map[string]string{}
	for _, p := range c.cheap {
		got, err := c.Get(p)
		require.NoError(c.T, err)
		homes[p.Name] = got.Spec.NodeName
	}
	return homes
}

// protect lets none of the cheap pods be evicted, and waits until the API server knows.
func (c *crowd) protect() *policyv1.PodDisruptionBudget {
	all := intstr.FromInt32(int32(len(c.cheap) + len(c.innocents)))
	budgets := c.Plane.Client.PolicyV1().PodDisruptionBudgets(c.Namespace)
	b, err := budgets.Create(c.Ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &all, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "story"}},
		},
	}, metav1.CreateOptions{})
	require.NoError(c.T, err)
	c.Await(time.Minute, "the budget to be counted", func() error {
		got, err := budgets.Get(c.Ctx, "all", metav1.GetOptions{})
		if err == nil && (got.Status.ObservedGeneration < got.Generation || got.Status.ExpectedPods == 0) {
			return fmt.Errorf("status is %+v", got.Status)
		}
		return err
	})
	return b
}

func (c *crowd) unharmed() error {
	if gone := c.Diary.Deleted(); len(gone) > 0 {
		return fmt.Errorf("deleted: %v", gone)
	}
	return nil
}

// TestImportantPodTakesTheRoomOfTheFewest: two of the four cheap pods leave, both from the node that the important pod
// then runs on; nobody else is touched, and nothing is bought.
func TestImportantPodTakesTheRoomOfTheFewest(t *testing.T) {
	c := newCrowd(t)
	homes := c.homes()
	important := c.Create(c.Pod("important", stage.Resources("cpu", "3"), ofClass("important")))[0]
	t.Logf("ran after %s", c.AwaitRunning(soon, important))
	placed, err := c.Get(important)
	require.NoError(t, err)

	var want []string
	for name, home := range homes {
		if home == placed.Spec.NodeName {
			want = append(want, name)
		}
	}
	require.Len(t, want, 2)
	require.ElementsMatch(t, want, c.Diary.Deleted(), "exactly those who stood in the way")
	require.NoError(t, c.Running(c.innocents...))
	require.Len(t, c.MustClaims("general"), 2)

	events, err := c.Events(important)
	require.NoError(t, err)
	require.Contains(t, strings.Join(events, "\n"), "Preempting: waits for room on node "+placed.Spec.NodeName)
	for _, p := range c.cheap {
		if !slices.Contains(want, p.Name) {
			continue
		}
		events, err := c.Events(p)
		require.NoError(t, err)
		require.Contains(t, strings.Join(events, "\n"), "to make room for pod "+c.Namespace+"/important of priority 1000")
	}
	c.WholeAndPaired()
}

// TestOnePodLeavesWhereOneIsEnough: the room of one is enough, so one leaves.
func TestOnePodLeavesWhereOneIsEnough(t *testing.T) {
	c := newCrowd(t)
	important := c.Create(c.Pod("important", stage.Resources("cpu", "1500m"), ofClass("important")))[0]
	c.AwaitRunning(soon, important)
	require.Len(t, c.Diary.Deleted(), 1)
	require.NoError(t, c.Running(c.innocents...))
}

// TestABudgetProtectsFromPreemption: while the budget stands, nobody leaves and the pod says why; then it is helped.
func TestABudgetProtectsFromPreemption(t *testing.T) {
	c := newCrowd(t)
	budget := c.protect()
	important := c.Create(c.Pod("important", stage.Resources("cpu", "3"), ofClass("important"), func(p *corev1.Pod) {
		p.Labels = nil
	}))[0]
	c.Hold(soon, "the pod to say that others are protected", c.unharmed, func() error {
		got, err := c.Get(important)
		if err != nil {
			return err
		}
		if why := stage.Condition(got, v1alpha1.CapacityCondition); why == nil || !strings.Contains(why.Message, "disruption budget") {
			return fmt.Errorf("it says %s", stage.Describe(got))
		}
		return nil
	})
	require.NoError(t, c.Plane.Client.PolicyV1().PodDisruptionBudgets(c.Namespace).Delete(c.Ctx, budget.Name, metav1.DeleteOptions{}))
	c.AwaitRunning(soon, important)
	require.Len(t, c.Diary.Deleted(), 2)
	require.NoError(t, c.Running(c.innocents...))
}

// TestNobodyLeaves for a pod whose preemptionPolicy is Never, nor from the nodes of a pool whose spec.preemption is.
func TestNobodyLeaves(t *testing.T) {
	for name, s := range map[string]struct {
		pool func(*v1alpha1.NodePool)
		pod  func(*corev1.Pod)
		says string
	}{
		"a polite pod": {
			pool: func(*v1alpha1.NodePool) {},
			pod:  func(p *corev1.Pod) { p.Spec.PriorityClassName = "polite" },
			says: "the pod's preemptionPolicy is Never",
		},
		"a spared pool": {
			pool: func(p *v1alpha1.NodePool) { p.Spec.Preemption = v1alpha1.PreemptionNever },
			pod:  ofClass("important"),
			says: "no node where pods of lower priority could make room",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrowd(t, s.pool)
			_, err := c.Plane.Client.SchedulingV1().PriorityClasses().Create(c.Ctx, &schedulingv1.PriorityClass{
				ObjectMeta: metav1.ObjectMeta{Name: "polite"}, Value: 1000, PreemptionPolicy: new(corev1.PreemptNever),
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			pod := c.Create(c.Pod("wants", stage.Resources("cpu", "3"), s.pod))[0]
			c.AwaitNoHelp(soon, pod, s.says)
			require.NoError(t, c.unharmed())
			require.NoError(t, c.Unbound(pod))
			require.Len(t, c.MustClaims("general"), 2, "and nothing is bought")
		})
	}
}

// TestACrashAmidAPreemptionEvictsNobodyTwice: Muster is killed when the first victim leaves, and comes back.
func TestACrashAmidAPreemptionEvictsNobodyTwice(t *testing.T) {
	c := newCrowd(t)
	important := c.Create(c.Pod("important", stage.Resources("cpu", "3"), ofClass("important")))[0]
	c.Await(soon, "the first victim to leave", func() error {
		if len(c.Diary.Deleted()) == 0 {
			return fmt.Errorf("nobody left yet")
		}
		return nil
	})
	c.muster.Crash()
	c.AwaitRunning(soon, important)
	require.Len(t, c.Diary.Deleted(), 2)
	require.NoError(t, c.Running(c.innocents...))
	c.WholeAndPaired()
}
