package planner

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/policy"
)

func TestLowerBound(t *testing.T) {
	small := priced(object.Shape("small", "cpu", "2", "memory", "4Gi"), "1")
	large := priced(object.Shape("large", "cpu", "8", "memory", "16Gi"), "3")
	for name, c := range map[string]struct {
		change func(*world)
		bound  float64
	}{
		"nothing to buy costs nothing": {func(*world) {}, 0},
		"half of the cheaper machine would do, and machines come whole": {func(w *world) {
			w.pending("p", 1, "cpu", "1")
		}, 1},
		"the larger machine is the cheaper one for its size": {func(w *world) {
			w.pending("p", 8, "cpu", "2")
		}, 6},
		"a machine for each pod that stands alone": {func(w *world) {
			for _, p := range w.pending("p", 3, "cpu", "1") {
				alone(p, "web")
			}
		}, 3},
		"a machine for each pod that takes the same port": {func(w *world) {
			for _, p := range w.pending("p", 3, "cpu", "1") {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
			}
		}, 3},
		"machines that keep the minimum count": {func(w *world) { w.pools[0].Spec.Limits.MinNodes = 2 }, 2},
		"a pod that only the large one holds":  {func(w *world) { w.pending("p", 1, "cpu", "4") }, 3},
		"DaemonSets take their part": {func(w *world) {
			w.daemons = append(w.daemons, object.DaemonSet("agent", "cpu", "1"))
			w.pending("p", 1, "cpu", "2")
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(object.Pool("pool", 10, small, large))
			c.change(w)
			require.InDelta(t, c.bound, w.plan().LowerBound, 1e-6)
		})
	}
}

// alone lets no two pods of an application share a host.
func alone(p *corev1.Pod, app string) {
	p.Labels = map[string]string{"app": app}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}, TopologyKey: corev1.LabelHostname,
		}},
	}}
}

// TestLowerBoundIsNeverAboveTheOptimum looks at every way to carry the pods of small plans.
func TestLowerBoundIsNeverAboveTheOptimum(t *testing.T) {
	looked, tight := 0, 0
	for seed := int64(1); seed <= 1500; seed++ {
		w := smallWorld(seed)
		v := w.view(0, object.Start)
		p := Plan(v, object.Start)
		if len(p.Creates) == 0 {
			continue
		}
		best := newOptimum(v, p).search()
		require.LessOrEqual(t, p.LowerBound, best*(1+1e-9), "seed %d: the bound against the optimum", seed)
		looked++
		if p.LowerBound > best*0.95 {
			tight++
		}
	}
	require.Greater(t, looked, 1000, "plans that buy")
	require.Greater(t, tight, looked/3, "bounds within 5 % of the optimum")
}

// smallWorld has up to six pods and two pools without limits that matter.
func smallWorld(seed int64) *world {
	r := rand.New(rand.NewSource(seed))
	w := newWorld()
	for i := range 1 + r.Intn(2) {
		p := object.Pool(fmt.Sprintf("pool%d", i), 20)
		p.Spec.Template.Labels = map[string]string{"pool": p.Name}
		if r.Intn(4) == 0 {
			p.Spec.Limits.MinNodes = int32(r.Intn(4))
		}
		if r.Intn(4) == 0 {
			p.Spec.Template.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
		}
		if r.Intn(3) == 0 {
			p.Spec.Template.Overhead = object.Amounts("cpu", "250m", "memory", "512Mi")
		}
		if r.Intn(4) == 0 {
			p.Spec.Template.Range = sizeRange("cpu:1..7/3,memory:2Gi..14Gi/4Gi")
		} else {
			p.Spec.Template.Shapes = smallShapes(r)
		}
		w.pools = append(w.pools, p)
	}
	if r.Intn(3) == 0 {
		d := object.DaemonSet("agent", "cpu", "300m", "memory", "200Mi")
		if r.Intn(2) == 0 {
			d.Spec.Template.Spec.NodeSelector = map[string]string{v1alpha1.ShapeLabel: "s1"}
		}
		w.daemons = append(w.daemons, d)
	}
	for i := range 1 + r.Intn(6) {
		w.smallPod(r, i)
	}
	return w
}

func smallShapes(r *rand.Rand) []v1alpha1.Shape {
	var shapes []v1alpha1.Shape
	for i := range 1 + r.Intn(3) {
		s := object.Shape(fmt.Sprintf("s%d", i), "cpu", strconv.Itoa(1+r.Intn(8)), "memory", strconv.Itoa(1+r.Intn(16))+"Gi",
			"pods", strconv.Itoa(1+r.Intn(5)))
		if r.Intn(3) == 0 {
			s.Resources["example.com/gpu"] = *s.Resources.Pods()
		}
		if r.Intn(3) > 0 {
			s = priced(s, strconv.Itoa(r.Intn(900))+"m")
		}
		shapes = append(shapes, s)
	}
	return shapes
}

func (w *world) smallPod(r *rand.Rand, i int) {
	amounts := []string{"cpu", strconv.Itoa(100+r.Intn(3000)) + "m", "memory", strconv.Itoa(64+r.Intn(6000)) + "Mi"}
	if r.Intn(5) == 0 {
		amounts = append(amounts, "example.com/gpu", "1")
	}
	p := w.pending(fmt.Sprintf("p%d", i), 1, amounts...)[0]
	switch r.Intn(6) {
	case 0:
		p.Spec.NodeSelector = map[string]string{"pool": "pool0"}
	case 1:
		p.Spec.NodeSelector = map[string]string{v1alpha1.ShapeLabel: "s0"}
	case 2, 3:
		alone(p, []string{"web", "db"}[r.Intn(2)])
	case 4:
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
	}
	if r.Intn(3) == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
	}
}

// optimum finds the least cost at which pods can be carried, by trying everything.
type optimum struct {
	pods     []*capacity.Pod
	sale     []*capacity.Claim // every machine of every size
	cost     []float64
	loads    [][]*capacity.Pod
	minimum  map[string]int
	cheapest map[string]float64
}

func newOptimum(v *capacity.View, p capacity.Plan) *optimum {
	o := &optimum{minimum: map[string]int{}, cheapest: map[string]float64{}}
	bought := map[string]int{}
	for _, c := range p.Creates {
		o.pods = append(o.pods, c.Pods...)
		bought[c.Claim.Spec.Pool]++
	}
	for _, pool := range v.Pools {
		o.minimum[pool.Name] = min(bought[pool.Name], int(pool.Spec.Limits.MinNodes))
		o.cheapest[pool.Name] = math.Inf(1)
		for _, shape := range everyShape(pool) {
			claim := capacity.NewClaim(pool, shape, 0)
			node := capacity.NodeOfClaim(claim, v.Daemons)
			if free := node.Free(); free.MilliCPU < 0 || free.Memory < 0 || free.Pods < 0 {
				continue
			}
			o.sale, o.cost = append(o.sale, &capacity.Claim{Object: claim, Node: node}), append(o.cost, policy.Cost(shape))
			o.cheapest[pool.Name] = min(o.cheapest[pool.Name], policy.Cost(shape))
		}
	}
	return o
}

func everyShape(pool *v1alpha1.NodePool) []v1alpha1.Shape {
	r := pool.Spec.Template.Range
	if r == nil {
		return pool.Spec.Template.Shapes
	}
	sizes, shapes := policy.SizesOf(r), []v1alpha1.Shape(nil)
	for cpu := r.CPU.Min.MilliValue(); cpu <= r.CPU.Max.MilliValue(); cpu += r.CPU.Step.MilliValue() {
		for memory := r.Memory.Min.Value(); memory <= r.Memory.Max.Value(); memory += r.Memory.Step.Value() {
			if shape, ok := sizes.Smallest(cpu, memory); ok {
				shapes = append(shapes, shape)
			}
		}
	}
	return shapes
}

// search puts each pod on every machine that is there, and on a new one, and then gives every load a machine.
func (o *optimum) search() float64 {
	if len(o.pods) == 0 {
		return o.dress(0, 0, map[string]int{})
	}
	pod, best := o.pods[0], math.Inf(1)
	o.pods = o.pods[1:]
	for i := range o.loads {
		if !slices.ContainsFunc(o.loads[i], func(other *capacity.Pod) bool { return apart(pod, other) }) {
			o.loads[i] = append(o.loads[i], pod)
			best = min(best, o.search())
			o.loads[i] = o.loads[i][:len(o.loads[i])-1]
		}
	}
	o.loads = append(o.loads, []*capacity.Pod{pod})
	best = min(best, o.search())
	o.loads = o.loads[:len(o.loads)-1]
	o.pods = append([]*capacity.Pod{pod}, o.pods...)
	return best
}

// dress buys for the loads from the i-th on, and at the end what pools lack of their minimum.
func (o *optimum) dress(i int, spent float64, bought map[string]int) float64 {
	if i == len(o.loads) {
		for pool, n := range o.minimum {
			if lack := n - bought[pool]; lack > 0 {
				spent += float64(lack) * o.cheapest[pool]
			}
		}
		return spent
	}
	// Of one pool the cheapest machine that carries the load is the best.
	choice := map[string]int{}
	for j, c := range o.sale {
		pool := c.Object.Spec.Pool
		if known, ok := choice[pool]; (!ok || o.cost[j] < o.cost[known]) && carriesAll(c.Node, o.loads[i]) {
			choice[pool] = j
		}
	}
	best := math.Inf(1)
	for pool, j := range choice {
		bought[pool]++
		best = min(best, o.dress(i+1, spent+o.cost[j], bought))
		bought[pool]--
	}
	return best
}

func carriesAll(n *capacity.Node, pods []*capacity.Pod) bool {
	free := n.Free()
	for _, p := range pods {
		if !capacity.Fit(p.Ask, n, free, nil).Fits {
			return false
		}
		free.Sub(p.Ask.Requests)
	}
	return true
}

// apart says whether two pods of a small world refuse to share a host.
func apart(a, b *capacity.Pod) bool {
	return len(a.Ask.Ports) > 0 && len(b.Ask.Ports) > 0 || a.Ask.Rules.Avoids() && b.Ask.Rules.Avoids() && a.Labels == b.Labels
}
