package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity/control"
)

const grace = 30 * time.Second

// full is a cluster of one node of 4 CPUs, at the limit of its only pool, with two cheap pods of 2 CPUs.
func full(t *testing.T) *theatre {
	th := newTheatre(t)
	th.node("n", "4")
	th.run(runningPod("cheap-1", 1, "2", "n"), runningPod("cheap-2", 2, "2", "n"))
	return th
}

func TestPreemptionTakesItsTimeAndNoMoreThanItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		defer th.start()()
		th.asks(pendingPod("important", 100, "2"))
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"evict cheap-1"}, th.log())
		require.Equal(t, "Preempting: waits for room on node n: pod default/cheap-1 of lower priority leaves", th.told("important"))
		require.Contains(t, th.events(), "Pod cheap-1 Preempted")
		require.Contains(t, th.events(), "Pod important Preempting")

		time.Sleep(grace - 5*time.Second)
		require.Equal(t, []string{"evict cheap-1"}, th.log()[:1])
		require.NotContains(t, th.log(), "nominate important n", "a moment ago the room was not there")
		time.Sleep(5 * time.Second)
		require.Contains(t, th.log(), "nominate important n")
		require.Contains(t, th.log(), "bind important n")
		require.Equal(t, 1, th.count("evict cheap-1"))
	})
}

func TestFreedRoomIsNotStolen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		defer th.start()()
		th.asks(pendingPod("important", 100, "4"))
		time.Sleep(2 * time.Second)
		require.ElementsMatch(t, []string{"evict cheap-1", "evict cheap-2"}, th.log())
		time.Sleep(grace)
		th.asks(pendingPod("cheap-1-again", 1, "2"), pendingPod("same", 100, "2"))
		time.Sleep(10 * time.Second)
		require.Contains(t, th.log(), "bind important n")
		require.NotContains(t, th.log(), "bind same n")
		require.NotContains(t, th.log(), "bind cheap-1-again n")
	})
}

// TestAVictimThatIsGoneBeforeItIsLookedAtStaysGone: on the way the look at an evicted pod is overtaken by the watch, which
// tells of the pod's end once and never again.
func TestAVictimThatIsGoneBeforeItIsLookedAtStaysGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		th.swift = true
		defer th.start()()
		th.asks(pendingPod("important", 100, "4"))
		time.Sleep(5 * time.Second)
		require.Contains(t, th.log(), "bind important n")
		require.Equal(t, 1, th.ended(control.PreemptionPlaced))
		require.Nil(t, th.live.Pod("cheap-1"))
	})
}

func TestAProtectedVictimIsAskedAgainAfterABackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		th.protect("cheap-1", "cheap-2")
		defer th.start()()
		th.asks(pendingPod("important", 100, "4"))
		time.Sleep(2 * time.Second)
		require.Equal(t, 1, th.count("refuse cheap-2"))
		require.Equal(t, 0, th.count("evict cheap-1"), "nobody else dies")
		require.Contains(t, th.told("important"), "preemption: pods of lower priority may not be evicted now: default/cheap-2 on node n")
		require.Contains(t, th.told("important"), "disruption budget")
		time.Sleep(7 * time.Second)
		require.Equal(t, 1, th.count("refuse cheap-2"), "it is left alone for a while")
		time.Sleep(60 * time.Second)
		refused := th.count("refuse cheap-2")
		require.Greater(t, refused, 1)
		require.Less(t, refused, 5, "for longer each time")

		th.protect()
		time.Sleep(2 * time.Minute)
		require.Contains(t, th.log(), "bind important n")
	})
}

// Two victims under a budget that allows one: begun, the second would be refused, and the first gone for nothing.
func TestEvictionsThatWouldEndHalfwayAreNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		budget := &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cheap"},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1},
		}
		th.live.SetDisruptionBudget(budget)
		defer th.start()()
		th.asks(pendingPod("important", 100, "4"))
		time.Sleep(time.Minute)
		require.Empty(t, th.log())
		require.Contains(t, th.told("important"), "budget cheap allows 1, which is not enough")

		budget = budget.DeepCopy()
		budget.Status.DisruptionsAllowed = 2
		th.live.SetDisruptionBudget(budget)
		time.Sleep(3 * time.Minute)
		require.ElementsMatch(t, []string{"evict cheap-1", "evict cheap-2"}, th.log()[:2])
		require.Contains(t, th.log(), "bind important n")
	})
}

// The crash comes when one victim leaves and nothing is nominated yet: a new Muster waits for that room.
func TestACrashInTheMiddleEvictsNobodyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		stop := th.start()
		th.asks(pendingPod("important", 100, "2"))
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"evict cheap-1"}, th.log())
		stop()
		th.restart()
		defer th.start()()
		th.askAgain()
		time.Sleep(grace + 5*time.Second)
		require.Equal(t, 1, th.count("evict cheap-1"))
		require.Equal(t, 0, th.count("evict cheap-2"))
		require.Contains(t, th.log(), "bind important n")
	})
}

// The crash comes between two evictions: a new Muster goes on where the old one was, and evicts who is left to evict.
func TestACrashBetweenTwoEvictionsIsResumed(t *testing.T) {
	for name, late := range map[string]time.Duration{
		"while the first victim leaves": time.Second, "after it has left": grace + time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := full(t)
				th.node("m", "4")
				th.run(runningPod("dear-1", 50, "2", "m"), runningPod("dear-2", 50, "2", "m"))
				th.hangs = "cheap-1"
				stop := th.start()
				th.asks(pendingPod("important", 100, "4"))
				time.Sleep(2 * time.Second)
				require.Equal(t, []string{"evict cheap-2"}, th.log(), "the other one's eviction was on its way")
				stop()
				time.Sleep(late)
				th.hangs = ""
				th.restart()
				defer th.start()()
				th.askAgain()
				time.Sleep(2*grace + 10*time.Second)
				require.Equal(t, []string{"evict cheap-2", "evict cheap-1", "nominate important n", "bind important n"}, th.log())
			})
		})
	}
}

func TestACrashAfterTheRoomIsThereEvictsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		stop := th.start()
		th.asks(pendingPod("important", 100, "2"))
		time.Sleep(2 * time.Second)
		stop()
		time.Sleep(grace)
		th.restart()
		defer th.start()()
		th.askAgain()
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"evict cheap-1", "bind important n"}, th.log())
	})
}

func TestWhatChangedSinceItWasSeenIsSpared(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*theatre)
		spared string
	}{
		"a victim that was replaced":           {func(th *theatre) { th.behindItsBack("cheap-1", func(p *corev1.Pod) { p.UID = "another" }) }, "cheap-1"},
		"a victim that is on another node":     {func(th *theatre) { th.behindItsBack("cheap-1", func(p *corev1.Pod) { p.Spec.NodeName = "m" }) }, "cheap-1"},
		"a victim whose priority rose":         {func(th *theatre) { th.behindItsBack("cheap-1", func(p *corev1.Pod) { *p.Spec.Priority = 100 }) }, "cheap-1"},
		"everybody, when the pod has a node":   {func(th *theatre) { th.behindItsBack("important", func(p *corev1.Pod) { p.Spec.NodeName = "m" }) }, "cheap-1"},
		"everybody, when the pod was replaced": {func(th *theatre) { th.behindItsBack("important", func(p *corev1.Pod) { p.UID = "another" }) }, "cheap-1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				th := full(t)
				th.silent = true
				th.asks(pendingPod("important", 100, "2"))
				c.change(th)
				defer th.start()()
				time.Sleep(3 * time.Second)
				require.Zero(t, th.count("evict "+c.spared))
			})
		})
	}
}

func TestRoomThatIsNotTakenIsGivenBackAndTheBrakesHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		for _, name := range []string{"a", "b", "c"} {
			th.node(name, "4")
			th.run(runningPod("cheap-"+name, 1, "4", name))
		}
		th.silent = true
		defer th.start()()
		th.asks(pendingPod("important", 100, "2"))
		time.Sleep(5 * time.Minute)
		require.Equal(t, 1, th.count("nominate important a"), "a nomination is never repeated")
		require.Equal(t, 0, th.count("evict cheap-b")+th.count("evict cheap-c"), "nobody else dies for a pod that does not come")
		require.Equal(t, 1, th.ended(control.PreemptionVain))
	})
}

func TestVictimsThatDoNotLeaveAreNotWaitedForForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		th.node("a", "4")
		th.node("b", "4")
		th.run(runningPod("stuck", 1, "4", "a"), runningPod("dearer", 2, "4", "b"))
		th.stuck = "stuck"
		defer th.start()()
		th.asks(pendingPod("important", 100, "4"))
		time.Sleep(grace + 29*time.Second)
		require.Equal(t, []string{"evict stuck"}, th.log())
		time.Sleep(grace + 10*time.Second)
		require.Equal(t, []string{"evict stuck", "evict dearer", "nominate important b", "bind important b"}, th.log())
		require.Equal(t, 1, th.ended(control.PreemptionStuck))
	})
}

func TestNobodyDiesForAPodThatAMachineIsBoughtFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		th.pool(1)
		defer th.start()()
		th.asks(pendingPod("important", 100, "2"))
		time.Sleep(10 * time.Second)
		require.Empty(t, th.log())
		require.Contains(t, th.told("important"), "MachineOrdered")
	})
}

func TestNobodyDiesForAPodThatMustNotPreempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		defer th.start()()
		p := pendingPod("polite", 100, "2")
		p.Spec.PreemptionPolicy = new(corev1.PreemptNever)
		th.asks(p)
		time.Sleep(time.Minute)
		require.Empty(t, th.log())
		require.Contains(t, th.told("polite"), "preemption: the pod's preemptionPolicy is Never")
	})
}

func TestNothingIsDoneBeforeEarlierAnswersAreBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := full(t)
		th.unsettled = true
		defer th.start()()
		th.asks(pendingPod("important", 100, "2"))
		time.Sleep(10 * time.Second)
		require.Empty(t, th.log())
		th.settle()
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"evict cheap-1"}, th.log())
	})
}

func TestOnlySoManyPreemptionsInAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newTheatre(t)
		for _, name := range []string{"a", "b", "c"} {
			th.node(name, "4")
			th.run(runningPod("cheap-"+name, 1, "4", name))
		}
		th.preemptor.Most = 2
		defer th.start()()
		th.asks(pendingPod("one", 100, "4"), pendingPod("two", 100, "4"), pendingPod("three", 100, "4"))
		time.Sleep(700 * time.Millisecond)
		require.Len(t, th.log(), 2)
		time.Sleep(2 * time.Second)
		require.Len(t, th.log(), 3)
	})
}
