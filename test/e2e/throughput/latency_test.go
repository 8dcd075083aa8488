package throughput

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

const (
	latencySamples = 100
	batchIdle      = 500 * time.Millisecond // the window of a pod that comes alone
	orderAllowance = 300 * time.Millisecond // p99, beyond the window
	bindAllowance  = time.Second            // p99
)

// BenchmarkLatency takes the two parts of a pod's way that are Muster's: from its creation to the provider's create
// call, and from its node's Ready to its binding. Each pod comes alone and needs a machine of its own.
func BenchmarkLatency(b *testing.B) {
	for range b.N {
		s := stage.New(b, kit)
		s.Backend()
		s.Apply(stage.Pool("latency", latencySamples, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}))
		s.Node("small", stage.Resources("cpu", "1", "memory", "4Gi"))
		s.Place(stage.ReplicaOptions{})
		// Muster answers no filter call in the first seconds after its start; that is not the way of a pod.
		s.AwaitRunning(time.Minute, s.Create(s.Pod("first", stage.Resources("cpu", "100m")))...)

		created := map[types.UID]time.Time{}
		var pods []*corev1.Pod
		for i := range latencySamples {
			begin := time.Now()
			pod := s.Create(s.Pod(fmt.Sprintf("p-%d", i), stage.Resources("cpu", "1500m")))[0]
			created[pod.UID] = begin
			pods = append(pods, pod)
			s.Await(time.Minute, "its machine to be ordered", func() error { return machines(s, i+1) })
		}
		s.AwaitRunning(2*time.Minute, pods...)
		s.WholeAndPaired()
		report(b, "order", orders(s, created), batchIdle+orderAllowance)
		report(b, "bind", bindings(s, pods), bindAllowance)
	}
}

func machines(s *stage.Stage, n int) error {
	if seen := len(s.Machines()); seen < n {
		return fmt.Errorf("%d machines, wanted %d", seen, n)
	}
	return nil
}

// orders is from each pod's creation to the first create call of the claim that was made for it.
func orders(s *stage.Stage, created map[types.UID]time.Time) (all []time.Duration) {
	calls, err := s.Sim.Calls(s.Ctx)
	require.NoError(s.T, err)
	first := map[types.UID]time.Time{}
	for _, c := range calls {
		if _, known := first[c.ClaimUID]; !known && c.Verb == "create" {
			first[c.ClaimUID] = c.At
		}
	}
	for _, claim := range s.MustClaims("latency") {
		for _, p := range claim.Spec.Reserved {
			all = append(all, first[claim.UID].Sub(created[p.UID]))
		}
	}
	require.Len(s.T, all, latencySamples, "every claim says for which pod it was made")
	return all
}

func bindings(s *stage.Stage, pods []*corev1.Pod) (all []time.Duration) {
	for _, p := range pods {
		got, err := s.Get(p)
		require.NoError(s.T, err)
		ready, ok := s.Diary.NodeReady(got.Spec.NodeName)
		require.True(s.T, ok)
		bound, ok := s.Diary.Bound(p.UID)
		require.True(s.T, ok)
		all = append(all, max(0, bound.Sub(ready)))
	}
	return all
}

func report(b *testing.B, what string, all []time.Duration, allowed time.Duration) {
	b.Helper()
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)-1)*percent/100] }
	b.ReportMetric(float64(at(50).Milliseconds()), what+"-p50-ms")
	b.ReportMetric(float64(at(99).Milliseconds()), what+"-p99-ms")
	b.Logf("%s: p50 %s, p90 %s, p99 %s, max %s of %d", what, at(50), at(90), at(99), at(100), len(all))
	if at(99) > allowed {
		b.Errorf("%s: p99 is %s, %s are allowed", what, at(99), allowed)
	}
}
