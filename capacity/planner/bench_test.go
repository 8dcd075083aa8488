package planner

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// twentyShapes are 2 to 96 cores in three ratios of memory, in two pools.
func twentyShapes() []*v1alpha1.NodePool {
	cores := []int{2, 4, 8, 16, 32, 64, 96}
	var shapes []v1alpha1.Shape
	for _, ratio := range []int{2, 4, 8} {
		for _, c := range cores {
			name := fmt.Sprintf("c%d-r%d", c, ratio)
			shapes = append(shapes, object.Shape(name, "cpu", strconv.Itoa(c), "memory", strconv.Itoa(c*ratio)+"Gi"))
		}
	}
	return []*v1alpha1.NodePool{object.Pool("a", 1000, shapes[:10]...), object.Pool("b", 1000, shapes[10:20]...)}
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
				w.nodes = append(w.nodes, object.Node(fmt.Sprintf("node-%04d", i), "cpu", "50m", "memory", "1Gi"))
			}
			w.daemons = append(w.daemons, object.DaemonSet("agent", "cpu", "50m", "memory", "64Mi"))
			benchPlan(b, w)
		})
	}
}

// fourHundredShapes are 1 to 400 cores with two GiB and ten pods for each.
func fourHundredShapes() []v1alpha1.Shape {
	var shapes []v1alpha1.Shape
	for i := 1; i <= 400; i++ {
		shapes = append(shapes, object.Shape(fmt.Sprintf("c%d", i),
			"cpu", strconv.Itoa(i), "memory", strconv.Itoa(2*i)+"Gi", "pods", strconv.Itoa(10*i)))
	}
	return shapes
}

var (
	mixedCPU    = []string{"100m", "250m", "500m", "1", "1500m"}
	mixedMemory = []string{"100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"}
)

// plainPods adds n pods that ask for resources only, as Karpenter's own benchmark draws them.
func (w *world) plainPods(r *rand.Rand, n int) {
	for i := range n {
		w.pending(fmt.Sprintf("plain%d", i), 1,
			"cpu", mixedCPU[r.Intn(len(mixedCPU))], "memory", mixedMemory[r.Intn(len(mixedMemory))])
	}
}

func BenchmarkPlanPlain(b *testing.B) {
	for _, pods := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			w := newWorld(object.Pool("p", 1000, fourHundredShapes()...))
			w.plainPods(rand.New(rand.NewSource(1)), pods)
			benchPlan(b, w)
		})
	}
}

func benchPlan(b *testing.B, w *world) {
	v := w.view(0, object.Start)
	b.ReportAllocs()
	var plan capacity.Plan
	for b.Loop() {
		plan = Plan(v, object.Start)
	}
	cost := 0.0
	for _, c := range plan.Creates {
		cost += c.Cost
	}
	b.ReportMetric(float64(len(plan.Creates)), "machines")
	b.ReportMetric(cost, "cost/h")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(v.Shortfalls)), "ns/pod")
}
