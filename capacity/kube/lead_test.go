package kube

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/muster-sh/muster/capacity"
)

var leaseName = types.NamespacedName{Namespace: "kube-system", Name: "muster-scheduler"}

// schedulerLease is the scheduler's lease behind a fake API server; holder and version change as the test says.
type schedulerLease struct {
	holder  atomic.Value
	version atomic.Value
	down    atomic.Bool
}

func (s *schedulerLease) client() *fake.Clientset {
	cs := fake.NewClientset()
	cs.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if s.down.Load() {
			return true, nil, apierrors.NewServiceUnavailable("down")
		}
		holder, seconds := s.holder.Load().(string), int32(15)
		return true, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: leaseName.Name, Namespace: leaseName.Namespace, ResourceVersion: s.version.Load().(string)},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds},
		}, nil
	})
	return cs
}

func (s *schedulerLease) set(holder, version string) {
	s.holder.Store(holder)
	s.version.Store(version)
}

// following runs FollowScheduler in a bubble and counts the terms that are under way.
func following(t *testing.T, lease *schedulerLease, test func(lead *Lead, working *atomic.Int32)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var lead Lead
		var working atomic.Int32
		done := make(chan error, 1)
		go func() {
			done <- lead.FollowScheduler(ctx, lease.client(), leaseName, "node-a", slog.New(slog.DiscardHandler),
				func(run context.Context) {
					working.Add(1)
					<-run.Done()
					working.Add(-1)
				})
		}()
		synctest.Wait()
		test(&lead, &working)
		cancel()
		require.NoError(t, <-done)
		require.Zero(t, working.Load(), "nothing works on after the end")
	})
}

func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestFollowSchedulerLeadsWhereTheSchedulerOfThisPodDoes(t *testing.T) {
	lease := &schedulerLease{}
	lease.set("node-b_123", "1")
	following(t, lease, func(lead *Lead, working *atomic.Int32) {
		_, ok := lead.Since(time.Now())
		require.False(t, ok, "another pod's scheduler leads")
		require.Zero(t, working.Load())

		lease.set("node-a_456", "2")
		after(pollLease)
		since, ok := lead.Since(time.Now())
		require.True(t, ok)
		require.Equal(t, time.Now(), since)
		require.Equal(t, int32(1), working.Load())

		lease.set("node-b_789", "3")
		after(pollLease)
		_, ok = lead.Since(time.Now())
		require.False(t, ok)
		require.Zero(t, working.Load())
	})
}

// Muster tells a scheduler that ignores a wake-up from one that is not there by its renewals.
func TestFollowSchedulerTellsOfRenewals(t *testing.T) {
	lease := &schedulerLease{}
	lease.set("node-b_123", "1")
	var seen []time.Time
	following(t, lease, func(lead *Lead, _ *atomic.Int32) {
		lead.mu.Lock()
		lead.Renewed = func(at time.Time) { seen = append(seen, at) }
		lead.mu.Unlock()
		lease.set("node-b_123", "2")
		after(pollLease)
		require.Empty(t, seen, "another pod's scheduler leads")
		lease.set("node-a_456", "3")
		after(pollLease)
		require.Equal(t, []time.Time{time.Now()}, seen)
		after(3 * pollLease)
		require.Len(t, seen, 1, "nothing was renewed")
	})
}

func TestFollowSchedulerDoesNotTakeANameThatOnlyBeginsLikeOurs(t *testing.T) {
	lease := &schedulerLease{}
	lease.set("node-a-2_123", "1")
	following(t, lease, func(lead *Lead, _ *atomic.Int32) {
		_, ok := lead.Since(time.Now())
		require.False(t, ok)
	})
}

func TestFollowSchedulerStopsWhenTheLeaseIsNotRenewed(t *testing.T) {
	lease := &schedulerLease{}
	lease.set("node-a_1", "1")
	following(t, lease, func(lead *Lead, working *atomic.Int32) {
		after(15 * time.Second)
		_, ok := lead.Since(time.Now())
		require.True(t, ok, "the lease counts to its end")
		after(time.Second)
		_, ok = lead.Since(time.Now())
		require.False(t, ok, "nobody renewed it: somebody else may have it in a moment")
		require.Zero(t, working.Load())
	})
}

func TestFollowSchedulerStopsWhenTheAPIServerIsSilent(t *testing.T) {
	lease := &schedulerLease{}
	lease.set("node-a_1", "1")
	following(t, lease, func(lead *Lead, working *atomic.Int32) {
		lease.down.Store(true)
		after(16 * time.Second)
		_, ok := lead.Since(time.Now())
		require.False(t, ok)
		require.Zero(t, working.Load())

		lease.set("node-a_1", "2")
		lease.down.Store(false)
		after(pollLease)
		_, ok = lead.Since(time.Now())
		require.True(t, ok, "it goes on when the lease is renewed")
		require.Equal(t, int32(1), working.Load())
	})
}

func TestAStoppedProcessKnowsAtOnceThatItMayNotLeadAnyMore(t *testing.T) {
	var lead Lead
	now := time.Now()
	lead.set(true, now)
	lead.heard, lead.valid = now, 15*time.Second
	_, ok := lead.Since(now.Add(15 * time.Second))
	require.True(t, ok)
	_, ok = lead.Since(now.Add(30 * time.Second))
	require.False(t, ok, "no look at the lease was needed")
}

func TestSettleWaitsForBindingsNobodyHolds(t *testing.T) {
	start := time.Now()
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	lead := &Lead{}
	settle := &Settle{Live: live, Lead: lead, Wait: 5 * time.Second}
	require.ErrorContains(t, settle.Err(start), "not leading")

	lead.set(true, start)
	require.ErrorContains(t, settle.Err(start.Add(4*time.Second)), "settling for another 1s")
	require.NoError(t, settle.Err(start.Add(5*time.Second)))

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: "default", UID: "1"},
		Spec:       corev1.PodSpec{SchedulerName: "muster"},
	}
	live.SetPod(pod, start)
	bound := pod.DeepCopy()
	bound.Spec.NodeName = "n1"
	live.SetPod(bound, start.Add(4*time.Second))
	require.ErrorContains(t, settle.Err(start.Add(5*time.Second)), "settling for another 4s")
	require.NoError(t, settle.Err(start.Add(9*time.Second)))
}
