package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// The two replicas of the shipped Deployment, a scheduler and a Muster each. The leader fails in the middle of a
// scale-up, with machines ordered and not yet joined; the pool has not one slot to spare.
const replicaPods = 12

func TestLeaderKilledInTheMiddleOfAScaleUp(t *testing.T) {
	s, leader, other, pods := twoReplicas(t)
	leader.KillPod()
	begin := time.Now()
	s.Await(soon, "the other replica to lead", func() error { return s.Leads(other) })
	t.Logf("the other replica led %s after the kill", time.Since(begin).Round(time.Millisecond))
	leader.Revive()
	t.Logf("all pods ran %s later", s.AwaitRunning(3*time.Minute, pods...).Round(time.Millisecond))
	noDoubleNoLoss(s, pods)
}

func TestLeaderPausedForThirtySecondsAndWoken(t *testing.T) {
	s, leader, other, pods := twoReplicas(t)
	leader.PausePod()
	pause := time.After(30 * time.Second)
	s.Await(soon, "the other replica to lead", func() error { return s.Leads(other) })
	more := s.Create(onePodEach(s, "later", 4)...)
	<-pause // the story itself: thirty seconds, then the old leader wakes and believes it is still that time
	leader.ResumePod()
	s.Await(soon, "the woken scheduler to see that its lease is gone", func() error {
		if leader.Scheduler.Running() {
			return errNotYet
		}
		return nil
	})
	leader.Revive()
	t.Logf("all pods ran %s later", s.AwaitRunning(3*time.Minute, append(pods, more...)...).Round(time.Millisecond))
	noDoubleNoLoss(s, append(pods, more...))
}

// TestLeadingMusterAlonePausedForThirtySeconds: the scheduler beside it lives on and keeps its lease, so nobody takes
// over; calls time out, nothing is placed unchecked, and all goes on when it wakes.
func TestLeadingMusterAlonePausedForThirtySeconds(t *testing.T) {
	s, leader, _, pods := twoReplicas(t)
	leader.Muster.Pause()
	<-time.After(30 * time.Second) // the story itself
	leader.Muster.Resume()
	t.Logf("all pods ran %s after the pause", s.AwaitRunning(3*time.Minute, pods...).Round(time.Millisecond))
	noDoubleNoLoss(s, pods)
}

// twoReplicas stops in the middle: pods are there, the first claims too, none of the machines has joined.
func twoReplicas(t *testing.T) (s *stage.Stage, leader, other *stage.Replica, pods []*corev1.Pod) {
	s = stage.New(t, kit)
	s.Backend("--boot-min=6s", "--boot-median=8s", "--boot-max=10s")
	s.Apply(stage.Pool("pair", replicaPods+4, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}))
	s.Node("small", stage.Resources("cpu", "1", "memory", "4Gi"))
	leader = s.Place(stage.ReplicaOptions{Name: "replica-a"})
	s.Await(soon, "the first replica to lead", func() error { return s.Leads(leader) })
	other = s.Place(stage.ReplicaOptions{Name: "replica-b"})
	pods = s.Create(onePodEach(s, "first", replicaPods)...)
	s.Await(soon, "the first claims", func() error {
		claims, err := s.Claims("pair")
		if err == nil && len(claims) == 0 {
			err = errNotYet
		}
		return err
	})
	return s, leader, other, pods
}

func onePodEach(s *stage.Stage, name string, n int) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, s.Pod(fmt.Sprintf("%s-%d", name, i), stage.Resources("cpu", "1500m")))
	}
	return pods
}

func noDoubleNoLoss(s *stage.Stage, pods []*corev1.Pod) {
	s.T.Helper()
	s.WholeAndPaired()
	require.Len(s.T, s.MustClaims("pair"), len(pods), "one machine for each pod")
	require.Len(s.T, s.Machines(), len(pods), "no machine was ever made in vain")
	require.Empty(s.T, s.Diary.Deleted(), "no pod was lost")
}
