package throughput

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/test/e2e/shipped"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// BenchmarkSchedulerThroughput binds the same pods on the same nodes with Muster in place mode and with a stock
// scheduler that has no extender, in turn, at the same client speed. The pods are all there before the scheduler wakes,
// and the rate is taken from the first binding to the last.
func BenchmarkSchedulerThroughput(b *testing.B) {
	for _, size := range []struct{ nodes, pods, rounds int }{{1000, 2000, 3}, {5000, 2000, 2}} {
		b.Run(fmt.Sprintf("nodes=%d", size.nodes), func(b *testing.B) {
			for range b.N {
				s := stage.NewUnwatched(b, kit)
				s.Nodes(size.nodes, "node", stage.Resources("cpu", "32", "memory", "64Gi"))
				var with, without []float64
				for round := range size.rounds {
					without = append(without, rate(s, stock, fmt.Sprintf("stock-%d", round), size.pods))
					with = append(with, rate(s, place, fmt.Sprintf("muster-%d", round), size.pods))
				}
				b.ReportMetric(median(without), "stock-pods/s")
				b.ReportMetric(median(with), "muster-pods/s")
				b.ReportMetric(median(with)/median(without), "ratio")
				b.Logf("stock %.0f, with Muster %.0f pods/s", without, with)
			}
		})
	}
}

// sizes is how many sizes of pods take turns: a stock scheduler need not think about a pod that is just like the last.
const sizes = 7

// contender is a scheduler, and what else must run for it.
type contender struct {
	pods      string // their schedulerName
	scheduler *shipped.Service
	muster    *shipped.Service // nil in the stock case
}

func stock(s *stage.Stage, name string) contender {
	return contender{pods: corev1.DefaultSchedulerName, scheduler: s.StockNamed(name)}
}

// place has no leader election in the scheduler, which sleeps while the pods are made; Muster leads by its own lease.
func place(s *stage.Stage, name string) contender {
	r := s.Place(stage.ReplicaOptions{Name: name, Config: shipped.SchedulerConfig.WithoutLeaderElection,
		Flags: []string{"--leader=lease", "--lease=kube-system/muster-scheduler", "--log-level=info"}})
	return contender{pods: stage.PlaceScheduler, scheduler: r.Scheduler, muster: r.Muster}
}

func (c contender) cpu() (scheduler, muster time.Duration) {
	if c.muster != nil {
		muster = c.muster.CPU()
	}
	return c.scheduler.CPU(), muster
}

func (c contender) stop() {
	c.scheduler.Kill()
	if c.muster != nil {
		c.muster.Kill()
	}
}

// rate is how many pods a second were bound.
func rate(s *stage.Stage, start func(*stage.Stage, string) contender, name string, n int) float64 {
	s.T.Helper()
	c := start(s, name)
	defer c.stop()
	pods := func(prefix string, n int) (all []*corev1.Pod) {
		for i := range n {
			size := stage.Resources("cpu", fmt.Sprintf("%dm", 50+10*(i%sizes)), "memory", "64Mi")
			all = append(all, s.Pod(fmt.Sprintf("%s-%s-%d", name, prefix, i), size, stage.WithScheduler(c.pods)))
		}
		return all
	}
	warm := s.Create(pods("warm", 50)...)
	s.Await(2*time.Minute, "the first pods to be bound", func() error { return s.DiaryHasBound(warm...) })
	c.scheduler.Pause()
	made := s.Create(pods("load", n)...)
	scheduler, muster := c.cpu()
	c.scheduler.Resume()
	s.Await(5*time.Minute, "all pods to be bound", func() error { return s.DiaryHasBound(made...) })
	schedulerEnd, musterEnd := c.cpu()
	first, last := s.BoundBetween(made...)
	require.Positive(s.T, last.Sub(first))
	s.T.Logf("%s: %d pods in %s; processor time: scheduler %s, Muster %s", name, n, last.Sub(first).Round(time.Millisecond),
		schedulerEnd-scheduler, musterEnd-muster)
	s.DeletePods()
	return float64(n-1) / last.Sub(first).Seconds()
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
