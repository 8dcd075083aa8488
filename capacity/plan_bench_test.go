package capacity

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// twentyShapes are 2 to 96 cores in three ratios of memory, in two pools.
func twentyShapes() []*v1alpha1.NodePool {
	cores := []int{2, 4, 8, 16, 32, 64, 96}
	var shapes []v1alpha1.Shape
	for _, ratio := range []int{2, 4, 8} {
		for _, c := range cores {
			name := fmt.Sprintf("c%d-r%d", c, ratio)
			shapes = append(shapes, makeShape(name, "cpu", strconv.Itoa(c), "memory", strconv.Itoa(c*ratio)+"Gi"))
		}
	}
	return []*v1alpha1.NodePool{makePool("a", 1000, shapes[:10]...), makePool("b", 1000, shapes[10:20]...)}
}

// sizedPods adds n pods in so many sizes; the seed decides the sizes.
func (w *world) sizedPods(seed int64, n, sizes int) {
	r := rand.New(rand.NewSource(seed))
	for i := range sizes {
		cpu, memory := 100+r.Intn(4000), 128+r.Intn(12_800)
		w.pending(fmt.Sprintf("size%d", i), n/sizes,
			"cpu", strconv.Itoa(cpu)+"m", "memory", strconv.Itoa(memory)+"Mi")
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, c := range []struct {
		pods, sizes, nodes int
	}{{10_000, 100, 0}, {10_000, 100, 5000}, {10_000, 10_000, 0}, {300, 5, 100}} {
		b.Run(fmt.Sprintf("pods=%d/sizes=%d/nodes=%d", c.pods, c.sizes, c.nodes), func(b *testing.B) {
			w := newWorld(twentyShapes()...)
			w.sizedPods(1, c.pods, c.sizes)
			for i := range c.nodes {
				w.nodes = append(w.nodes, makeNode(fmt.Sprintf("node-%04d", i), "cpu", "50m", "memory", "1Gi"))
			}
			w.daemons = append(w.daemons, makeDaemonSet("agent", "cpu", "50m", "memory", "64Mi"))
			v := w.view(0, start)
			b.ReportAllocs()
			var plan Plan
			for b.Loop() {
				plan = NewPlan(v, start)
			}
			b.ReportMetric(float64(len(plan.Creates)), "machines")
		})
	}
}
