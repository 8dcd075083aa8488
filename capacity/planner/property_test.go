package planner

import (
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/policy"
)

// randomWorld is a small cluster with something of everything, decided by the seed.
func randomWorld(seed int64) *world {
	r := rand.New(rand.NewSource(seed))
	w := newWorld()
	for i := range 1 + r.Intn(3) {
		w.pools = append(w.pools, randomPool(r, fmt.Sprintf("pool%d", i)))
	}
	for i := range r.Intn(4) {
		n := object.Node(fmt.Sprintf("node-%d", i), "cpu", strconv.Itoa(1+r.Intn(8)), "memory", "16Gi", "example.com/gpu", "1")
		if r.Intn(4) == 0 {
			n = object.Tainted(n, "dedicated", corev1.TaintEffectNoSchedule)
		}
		w.nodes = append(w.nodes, n)
	}
	if r.Intn(2) == 0 {
		w.daemons = append(w.daemons, object.DaemonSet("agent", "cpu", "100m", "memory", "200Mi"))
	}
	for i := range 1 + r.Intn(6) {
		w.randomPods(r, fmt.Sprintf("set%d", i))
	}
	for i := range r.Intn(3) {
		w.randomClaim(r, i)
	}
	for _, p := range w.pools {
		if own := rand.New(rand.NewSource(seed + int64(len(p.Name)))); own.Intn(3) == 0 {
			randomLessons(own, p)
		}
	}
	return w
}

// randomLessons is what a pool may have learned of its shapes: they offer up to 40 % less than promised.
func randomLessons(r *rand.Rand, p *v1alpha1.NodePool) {
	shapes := p.Spec.Template.Shapes
	if p.Spec.Template.Range != nil {
		sizes := policy.SizesOf(p.Spec.Template.Range)
		for range 1 + r.Intn(3) {
			if shape, ok := sizes.Smallest(int64(r.Intn(16_000)), r.Int63n(64<<30)); ok {
				shapes = append(shapes, shape)
			}
		}
	}
	p.Status.Template = capacity.TemplateHash(p)
	for _, s := range shapes {
		c := capacity.NewClaim(p, s, 0)
		offers := capacity.Promised(c)
		offers.MilliCPU -= offers.MilliCPU * r.Int63n(40) / 100
		offers.Memory -= offers.Memory / 100 * r.Int63n(40)
		p.Status.Shapes = append(p.Status.Shapes, v1alpha1.LearnedShape{
			Name: s.Name, Capacity: c.Spec.Resources, Allocatable: offers.List(), Nodes: 1,
		})
	}
}

func randomPool(r *rand.Rand, name string) *v1alpha1.NodePool {
	p := object.Pool(name, int32(r.Intn(8)))
	p.Spec.Weight = int32(r.Intn(2))
	p.Spec.Limits.MinNodes = min(int32(r.Intn(2)), p.Spec.Limits.MaxNodes)
	p.Spec.ScaleUp.MaxInFlight = int32(r.Intn(5))
	p.Spec.Spare = []*intstr.IntOrString{nil, nil, new(intstr.FromInt32(2)), new(intstr.FromString("50%"))}[r.Intn(4)]
	if r.Intn(2) == 0 {
		p.Spec.Limits.Resources = object.Amounts("cpu", strconv.Itoa(4+r.Intn(60)))
	}
	if r.Intn(3) == 0 {
		p.Spec.Template.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
	}
	if r.Intn(3) == 0 {
		p.Spec.Template.Overhead = object.Amounts("cpu", "250m", "memory", "512Mi")
	}
	if r.Intn(4) == 0 {
		p.Spec.Template.Range = sizeRange("cpu:2..16/2,memory:4Gi..64Gi/4Gi")
		return p
	}
	for i := range 1 + r.Intn(4) {
		cores := 1 + r.Intn(16)
		s := object.Shape(fmt.Sprintf("s%d", i), "cpu", strconv.Itoa(cores), "memory", strconv.Itoa(cores*(1+r.Intn(8)))+"Gi")
		if r.Intn(4) == 0 {
			s.Resources["example.com/gpu"] = resource.MustParse("2")
		}
		if r.Intn(3) == 0 {
			s = priced(s, strconv.Itoa(1+r.Intn(500))+"m")
		}
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, s)
	}
	return p
}

func (w *world) randomPods(r *rand.Rand, name string) {
	amounts := []string{"cpu", strconv.Itoa(50+r.Intn(4000)) + "m", "memory", strconv.Itoa(64+r.Intn(8000)) + "Mi"}
	if r.Intn(5) == 0 {
		amounts = append(amounts, "example.com/gpu", "1")
	}
	priority, tolerant := int32(r.Intn(2)), r.Intn(3) == 0
	for _, p := range w.pending(name, 1+r.Intn(12), amounts...) {
		p.Spec.Priority = new(priority)
		if tolerant {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		}
		switch {
		case len(w.nodes) == 0:
		case r.Intn(6) == 0:
			p.Spec.NodeName = w.nodes[r.Intn(len(w.nodes))].Name
		case r.Intn(6) == 0:
			w.refused[p.UID] = sets.New(w.nodes[r.Intn(len(w.nodes))].Name)
		}
	}
}

func (w *world) randomClaim(r *rand.Rand, i int) {
	pool := w.pools[r.Intn(len(w.pools))]
	if len(pool.Spec.Template.Shapes) == 0 {
		return
	}
	c := capacity.NewClaim(pool, pool.Spec.Template.Shapes[r.Intn(len(pool.Spec.Template.Shapes))], i)
	c.UID = types.UID("uid-" + c.Name)
	c.Status.State = []v1alpha1.ClaimState{"", v1alpha1.ClaimJoining, v1alpha1.ClaimFailed, v1alpha1.ClaimReleasing}[r.Intn(4)]
	if c.Status.State == v1alpha1.ClaimFailed {
		c.Status.NextAttempt = object.Micro(object.Start.Add(time.Duration(r.Intn(3)-1) * time.Minute))
	}
	if c.Status.State == v1alpha1.ClaimReleasing && i%2 == 0 {
		c = object.GivenBack(c, int32(1+i%3))
	}
	p := w.pods[r.Intn(len(w.pods))]
	c.Spec.Reserved = []v1alpha1.PodReference{{Namespace: p.Namespace, Name: p.Name, UID: p.UID}}
	w.claims = append(w.claims, c)
}

const worlds = 200

func eachWorld(t *testing.T, check func(t *testing.T, seed int64, w *world)) {
	for seed := int64(1); seed <= worlds; seed++ {
		w := randomWorld(seed)
		if !t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { check(t, seed, w) }) {
			return
		}
	}
}

func TestShuffledInputGivesTheSamePlan(t *testing.T) {
	eachWorld(t, func(t *testing.T, seed int64, w *world) {
		want := w.plan()
		for i := range int64(3) {
			v := w.view(1000*seed+i+1, object.Start)
			got := Plan(v, object.Start)
			require.Equal(t, planText(want), planText(got))
			require.Equal(t, creates(want), creates(got))
			require.Equal(t, want.Outcomes, got.Outcomes)
		}
	})
}

func creates(p capacity.Plan) []*v1alpha1.NodeClaim {
	var claims []*v1alpha1.NodeClaim
	for _, c := range p.Creates {
		claims = append(claims, c.Claim)
	}
	return claims
}

func TestAPlanCarriedOutAndMadeAgainBuysNothing(t *testing.T) {
	eachWorld(t, func(t *testing.T, _ int64, w *world) {
		first := w.plan()
		w.apply(first, object.Start)
		if len(first.Creates) > 0 {
			require.NotEmpty(t, w.claims)
		}
		second := w.plan()
		require.Empty(t, creates(second), planText(first))
		require.Empty(t, second.Reserve, planText(first))
		for uid, o := range first.Outcomes {
			if o.Fate == capacity.Ordered {
				o = capacity.Outcome{Fate: capacity.Waits, Claim: o.Claim}
			}
			require.Equal(t, o, second.Outcomes[uid], "pod %s", uid)
		}
	})
}

func TestEveryPodHasOneFate(t *testing.T) {
	eachWorld(t, func(t *testing.T, _ int64, w *world) {
		v := w.view(0, object.Start)
		plan := Plan(v, object.Start)
		require.Len(t, plan.Outcomes, len(v.Shortfalls))
		seen := map[types.UID]string{}
		for _, c := range plan.Creates {
			require.Len(t, c.Claim.Spec.Reserved, len(c.Pods))
			for i, p := range c.Pods {
				require.Empty(t, seen[p.UID])
				seen[p.UID] = c.Claim.Name
				require.Equal(t, p.Ref(), c.Claim.Spec.Reserved[i])
				require.Equal(t, capacity.Outcome{Fate: capacity.Ordered, Claim: c.Claim.Name}, plan.Outcomes[p.UID])
			}
		}
		for _, s := range v.Shortfalls {
			o := plan.Outcomes[s.Pod.UID]
			require.Equal(t, o.Fate == capacity.Ordered, seen[s.Pod.UID] != "")
			require.Equal(t, o.Fate == capacity.Unserved, o.Reason.Code != "")
			require.Equal(t, o.Fate == capacity.FitsNow, o.Node != "")
			require.True(t, slices.IsSortedFunc(o.Pools, func(a, b capacity.PoolReason) int { return compareText(a.Pool, b.Pool) }))
		}
	})
}

func compareText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestNoPlanPassesALimit(t *testing.T) {
	bought := 0
	eachWorld(t, func(t *testing.T, _ int64, w *world) {
		before := len(w.claims)
		plan := w.plan()
		w.apply(plan, object.Start)
		bought += len(w.claims) - before
		names := map[string]bool{}
		for _, c := range w.claims {
			require.False(t, names[c.Name], "slot %s is taken twice", c.Name)
			names[c.Name] = true
		}
		for _, p := range w.pools {
			checkLimits(t, w, p, plan)
		}
	})
	require.Greater(t, bought, worlds/2, "the worlds must buy something")
}

// checkLimits recounts a pool with quantities. A limit that was passed before the plan must not be made worse.
func checkLimits(t *testing.T, w *world, p *v1alpha1.NodePool, plan capacity.Plan) {
	var nodes, inFlight, bought int32
	cpu := resource.Quantity{}
	for _, c := range w.claims {
		if c.Spec.Pool != p.Name {
			continue
		}
		nodes++
		if c.Status.State == "" || c.Status.State == v1alpha1.ClaimJoining {
			inFlight++
		}
		cpu.Add(c.Spec.Resources[corev1.ResourceCPU])
	}
	for _, c := range plan.Creates {
		if c.Claim.Spec.Pool == p.Name {
			bought++
		}
	}
	if bought == 0 {
		return
	}
	require.LessOrEqual(t, nodes, p.Spec.Limits.MaxNodes)
	if most := p.Spec.ScaleUp.MaxInFlight; most > 0 {
		require.LessOrEqual(t, inFlight, most)
	}
	if limit, limited := p.Spec.Limits.Resources[corev1.ResourceCPU]; limited {
		require.LessOrEqual(t, cpu.Cmp(limit), 0)
	}
}

// TestEveryPodReallyFits recounts with the pods' own quantities, apart from the code under test.
func TestEveryPodReallyFits(t *testing.T) {
	eachWorld(t, func(t *testing.T, _ int64, w *world) {
		plan := w.plan()
		w.apply(plan, object.Start)
		at := map[string][]*corev1.Pod{}
		for _, p := range w.pods {
			if p.Spec.NodeName != "" {
				at[p.Spec.NodeName] = append(at[p.Spec.NodeName], p)
			} else if o := plan.Outcomes[p.UID]; o.Fate != capacity.Unserved {
				require.False(t, o.Node != "" && w.refused[p.UID].Has(o.Node), "%s is refused by %s", p.Name, o.Node)
				at[o.Node+o.Claim] = append(at[o.Node+o.Claim], p)
			}
		}
		for _, n := range w.nodes {
			bound := slices.ContainsFunc(at[n.Name], func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
			recount(t, w, n.Name, n.Status.Allocatable, n.Spec.Taints, at[n.Name], bound)
		}
		for _, c := range w.claims {
			offered := c.Spec.Resources.DeepCopy()
			for name, q := range c.Spec.Overhead {
				left := offered[name]
				left.Sub(q)
				offered[name] = left
			}
			recount(t, w, c.Name, offered, c.Spec.Taints, at[c.Name], false)
		}
	})
}

// recount adds up what is asked of one machine. A node whose bound pods exceed it already is not judged: nothing of what
// the random worlds bind was checked for room.
func recount(t *testing.T, w *world, name string, offered corev1.ResourceList, taints []corev1.Taint, pods []*corev1.Pod, bound bool) {
	sum := corev1.ResourceList{}
	add := func(list corev1.ResourceList) {
		for name, q := range list {
			total := sum[name]
			total.Add(q)
			sum[name] = total
		}
	}
	fresh := 0
	for _, p := range pods {
		add(p.Spec.Containers[0].Resources.Requests)
		if p.Spec.NodeName == "" {
			fresh++
			require.True(t, len(taints) == 0 || len(p.Spec.Tolerations) > 0, "%s does not tolerate %s", p.Name, name)
		}
	}
	if fresh == 0 {
		return
	}
	for _, ds := range w.daemons {
		if len(taints) == 0 {
			add(ds.Spec.Template.Spec.Containers[0].Resources.Requests)
		}
	}
	for kind, total := range sum {
		have := offered[kind]
		asked := slices.ContainsFunc(pods, func(p *corev1.Pod) bool {
			_, asks := p.Spec.Containers[0].Resources.Requests[kind]
			return asks && p.Spec.NodeName == ""
		})
		require.False(t, asked && total.Cmp(have) > 0, "%s has %s %s, %s asked (bound pods: %v)",
			name, have.String(), kind, total.String(), bound)
	}
}

func served(p capacity.Plan) int {
	n := 0
	for _, o := range p.Outcomes {
		if o.Fate != capacity.Unserved {
			n++
		}
	}
	return n
}

func TestWithoutLimitsAnotherPodNeverLowersTheNumberServed(t *testing.T) {
	eachWorld(t, func(t *testing.T, seed int64, w *world) {
		for _, p := range w.pools {
			p.Spec.Limits, p.Spec.ScaleUp.MaxInFlight = v1alpha1.Limits{MaxNodes: 1000}, 0
		}
		w.claims, w.nodes = nil, nil // on nodes, a pod may well take the last room from two
		before := served(w.plan())
		w.randomPods(rand.New(rand.NewSource(-seed)), "late")
		require.GreaterOrEqual(t, served(w.plan()), before)
	})
}

func TestAnUnservedPodWouldFitNoMachineThatMayBeBought(t *testing.T) {
	unserved := 0
	eachWorld(t, func(t *testing.T, _ int64, w *world) {
		plan := w.plan()
		w.apply(plan, object.Start)
		for _, uid := range slices.Sorted(maps.Keys(plan.Outcomes)) {
			o := plan.Outcomes[uid]
			if o.Fate != capacity.Unserved {
				continue
			}
			unserved++
			// Alone with what was bought, the pod must still find nothing.
			alone := *w
			alone.pods = slices.DeleteFunc(slices.Clone(w.pods), func(p *corev1.Pod) bool {
				other := plan.Outcomes[p.UID]
				return p.UID != uid && p.Spec.NodeName == "" && other.Fate == capacity.Unserved
			})
			require.Equal(t, capacity.Unserved, alone.plan().Outcomes[uid].Fate, "pod %s", uid)
		}
	})
	require.Greater(t, unserved, worlds/4)
}
