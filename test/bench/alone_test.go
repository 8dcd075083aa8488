package bench

import (
	"fmt"
	"testing"

	"github.com/muster-sh/muster/capacity/planner"
)

// BenchmarkMuster is Muster alone on Karpenter's mix, a plan each time: for benchstat and profiles. The time is the
// processor's.
func BenchmarkMuster(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("pods=%d", n), func(b *testing.B) {
			onOneCore(b)
			view := newMarket().view(mixed(1, n))
			b.ReportAllocs()
			elapsed := stopwatch()
			for b.Loop() {
				if plan := planner.Plan(view, now); len(plan.Creates) == 0 {
					b.Fatal("nothing is bought")
				}
			}
			b.ReportMetric(float64(elapsed().Nanoseconds())/float64(b.N), "ns/op")
		})
	}
}
