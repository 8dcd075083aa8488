package preemption_test

import (
	"fmt"
	"testing"

	"github.com/muster-sh/muster/capacity/preemption"
)

// A full cluster, thirty pods a node, and twenty important pods.
func BenchmarkDecide(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			c := newCluster(b)
			for n := range nodes {
				name := fmt.Sprint("n", n)
				c.nodes(30_000, name)
				for i := range 30 {
					c.pods(pod(fmt.Sprint(name, "-", i), int32(i%5), 1000, on(name), startedAt(-i)))
				}
			}
			for i := range 20 {
				c.wants(pod(fmt.Sprint("important-", i), 100, 4000))
			}
			v := c.View()
			all := asks(v)
			b.ResetTimer()
			for b.Loop() {
				if d := preemption.Decide(v, all, 20, start); len(d.Moves) != 20 {
					b.Fatal(len(d.Moves))
				}
			}
		})
	}
}
