package reaper_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/policy"
)

const beat = 30 * time.Second

// rollout carries decisions out on a world, and watches the promises at every beat.
type rollout struct {
	*world
	t      *testing.T
	rng    *rand.Rand
	seed   uint64
	memory reaper.Memory
	now    time.Time
	made   int
	claims map[string]*v1alpha1.NodeClaim
	pods   map[string]*corev1.Pod
	ready  map[string]time.Time // when machines in flight come; zero when they never do

	orders, releases int
}

// newRollout is up to eight nodes of two sizes with pods, some of them protected.
func newRollout(t *testing.T, seed uint64) *rollout {
	r := &rollout{
		world: newWorld(0), t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 3)), now: start,
		claims: map[string]*v1alpha1.NodeClaim{}, pods: map[string]*corev1.Pod{}, ready: map[string]time.Time{},
	}
	size := func(name, cpu, memory, price string) v1alpha1.Shape {
		return v1alpha1.Shape{Name: name, Price: ptr.To(resource.MustParse(price)), Resources: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}
	}
	spec := &r.pool.Spec
	spec.Template.Shapes = []v1alpha1.Shape{size("small", "2", "4Gi", "2"), size("medium", "4", "8Gi", "3"), size("large", "8", "16Gi", "5")}
	spec.Limits = v1alpha1.Limits{MaxNodes: 12, MinNodes: int32(r.rng.IntN(3))}
	spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt(1 + r.rng.IntN(4))}}
	spec.ScaleDown.UtilizationThreshold = ptr.To(int32(10 * r.rng.IntN(6)))
	spec.ScaleDown.SavingThreshold = int32(10 * r.rng.IntN(4))
	spec.ScaleDown.Headroom = ptr.To(int32(10 * r.rng.IntN(2)))
	r.live.SetPool(r.pool)
	for i := range 2 + r.rng.IntN(6) {
		shape := spec.Template.Shapes[r.rng.IntN(3)]
		c := capacity.NewClaim(r.pool, shape, i)
		c.UID, c.Status.State = types.UID(c.Name+"-first"), v1alpha1.ClaimReady
		r.join(c)
		for range r.rng.IntN(4) {
			r.pod(c.Name, 100*(1+r.rng.IntN(5)))
		}
	}
	return r
}

func (r *rollout) join(c *v1alpha1.NodeClaim) {
	c = c.DeepCopy()
	r.made++
	c.ResourceVersion = fmt.Sprint(r.made)
	c.Status.State, c.Status.NodeName, c.Status.ReadyAt = v1alpha1.ClaimReady, c.Name, ptr.To(metav1.NewMicroTime(r.now))
	c.Status.LaunchedAt = c.Status.ReadyAt
	r.claims[c.Name] = c
	labels := map[string]string{v1alpha1.PoolLabel: "p", v1alpha1.ClaimLabel: c.Name, corev1.LabelHostname: c.Name}
	r.live.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, UID: c.UID, Labels: labels}, Status: corev1.NodeStatus{Allocatable: c.Spec.Resources},
	}, r.now)
	r.live.SetClaim(c)
}

func (r *rollout) pod(node string, milli int) {
	r.made++
	p := pod(fmt.Sprint("pod-", r.made), node, replica, asking(fmt.Sprintf("%dm", milli)))
	p.CreationTimestamp = metav1.NewTime(r.now)
	if r.rng.IntN(12) == 0 {
		p.Annotations = map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}
	}
	r.pods[p.Name] = p
	r.live.SetPod(p, r.now)
}

// step decides once and carries out what was decided. It says whether anything was.
func (r *rollout) step() bool {
	r.now = r.now.Add(beat)
	r.arrive()
	v := r.live.View()
	r.memory = r.memory.Follow(v, r.now)
	d := reaper.Decide(v, r.memory, r.now)
	if d.Looked {
		r.memory.Moved = r.now
	}
	if d.Weighed {
		r.memory.Weighed = r.now
	}
	r.watch(v, d)
	for _, o := range d.Order {
		for _, c := range o.Create {
			r.order(c)
		}
	}
	for _, rel := range d.Release {
		r.release(rel)
	}
	return len(d.Release)+len(d.Order) > 0 || len(r.ready) > 0
}

// watch holds a decision to the pool's minimum, its budget, and the pods that are to stay.
func (r *rollout) watch(v *capacity.View, d reaper.Decision) {
	serving := 0
	for _, c := range v.Claims {
		if c.Object.Status.State == v1alpha1.ClaimReady {
			serving++
		}
	}
	if len(d.Release) > 0 {
		require.GreaterOrEqual(r.t, serving-len(d.Release), int(r.pool.Spec.Limits.MinNodes), "seed %d", r.seed)
	}
	require.LessOrEqual(r.t, len(d.Release), r.pool.Spec.ScaleDown.Budgets[0].Nodes.IntValue(), "seed %d", r.seed)
	for _, rel := range d.Release {
		for _, p := range rel.Pods {
			require.Empty(r.t, p.Stays(v.Schedulers, false), "seed %d: %s", r.seed, p.Key())
		}
	}
}

// order makes a machine that comes after a few beats, or never.
func (r *rollout) order(c *v1alpha1.NodeClaim) {
	require.NotContains(r.t, r.claims, c.Name, "seed %d", r.seed)
	r.made++
	r.orders++
	c = c.DeepCopy()
	c.UID, c.ResourceVersion, c.Status.State = types.UID(fmt.Sprint("claim-", r.made)), fmt.Sprint(r.made), v1alpha1.ClaimLaunching
	c.CreationTimestamp = metav1.NewTime(r.now)
	r.claims[c.Name] = c
	r.live.SetClaim(c)
	r.ready[c.Name] = time.Time{}
	if r.rng.IntN(5) > 0 {
		r.ready[c.Name] = r.now.Add(time.Duration(1+r.rng.IntN(4)) * beat)
	}
}

func (r *rollout) arrive() {
	for _, c := range r.live.View().Claims {
		at, flies := r.ready[c.Object.Name]
		switch {
		case flies && at.IsZero():
			r.forget(c.Object.Name)
		case flies && !r.now.Before(at):
			delete(r.ready, c.Object.Name)
			r.join(c.Object)
		}
	}
}

// release has the pods of a node made again elsewhere, as the planner says, and takes the machine away.
func (r *rollout) release(rel reaper.Release) {
	r.releases++
	name := rel.Claim.Name
	c := r.claims[name].DeepCopy()
	r.made++
	c.ResourceVersion, c.Spec.Release = fmt.Sprint(r.made), &v1alpha1.Release{Reason: string(rel.Reason)}
	r.live.SetClaim(c)
	for _, p := range rel.Pods {
		old := r.pods[p.Name]
		r.live.ForgetPod(old.UID)
		delete(r.pods, p.Name)
		again := waiting(p.Name+"r", "1")
		again.Spec.Containers, again.OwnerReferences = old.Spec.Containers, old.OwnerReferences
		again.CreationTimestamp = metav1.NewTime(r.now)
		r.pods[again.Name] = again
		r.live.SetPod(again, r.now)
	}
	plan := planner.Plan(r.live.View(), r.now)
	for _, create := range plan.Creates {
		require.Empty(r.t, create.Pods, "seed %d: %s is bought back", r.seed, name)
	}
	for _, s := range r.live.View().Shortfalls {
		to := plan.Outcomes[s.Pod.UID].Node
		require.NotEmpty(r.t, to, "seed %d: pod %s has no room", r.seed, s.Pod.Key())
		bound := r.pods[s.Pod.Name].DeepCopy()
		bound.Spec.NodeName, bound.Status = to, corev1.PodStatus{}
		r.pods[bound.Name] = bound
		r.live.SetPod(bound, r.now)
	}
	r.forget(name)
}

func (r *rollout) forget(name string) {
	c := r.claims[name]
	r.live.ForgetNode(name)
	r.live.ForgetClaim(name, c.UID)
	delete(r.claims, name)
	delete(r.ready, name)
}

// settle runs until nothing was done for an hour, and no machine is on its way.
func (r *rollout) settle() {
	quiet := 0
	for range 3000 {
		if quiet++; r.step() {
			quiet = 0
		}
		if quiet > int(time.Hour/beat) {
			return
		}
	}
	require.Fail(r.t, "it never comes to rest", "seed %d: %d orders, %d releases", r.seed, r.orders, r.releases)
}

func (r *rollout) cost() (sum float64) {
	for _, c := range r.claims {
		for _, s := range r.pool.Spec.Template.Shapes {
			if s.Name == c.Spec.Shape {
				sum += policy.Cost(s)
			}
		}
	}
	return sum
}

// Nodes come and go until each runs what is worth it, and then nothing happens any more.
func TestConsolidationComesToRestAndSaves(t *testing.T) {
	orders, saved := 0, 0.0
	for seed := range uint64(60) {
		r := newRollout(t, seed)
		before, pods := r.cost(), len(r.pods)
		r.settle()
		require.Len(t, r.pods, pods, "seed %d: no pod is lost", seed)
		require.LessOrEqual(t, r.cost(), before, "seed %d", seed)
		require.Empty(t, planner.Plan(r.live.View(), r.now).Creates, "seed %d", seed)
		orders, saved = orders+r.orders, saved+before-r.cost()
	}
	require.Greater(t, orders, 20, "machines are bought to save")
	require.Greater(t, saved, 100.0)
}

// A new template reaches every node that no pod keeps, once.
func TestARolloutReachesEveryNode(t *testing.T) {
	replaced := 0
	for seed := range uint64(60) {
		r := newRollout(t, seed)
		r.pool.Spec.ScaleDown.SavingThreshold = 0
		r.pool.Spec.ScaleDown.ReplaceDrifted = true
		r.pool.Spec.Template.Labels = map[string]string{"generation": "two"}
		r.live.SetPool(r.pool)
		nodes, pods := len(r.claims), len(r.pods)
		r.settle()
		require.Len(t, r.pods, pods, "seed %d: no pod is lost", seed)
		v := r.live.View()
		for _, c := range v.Claims {
			if capacity.NewDrift(r.pool).Of(c.Object) != "" {
				kept := false
				for _, p := range v.Pods[c.Node.Name] {
					kept = kept || p.Stays(v.Schedulers, false) != ""
				}
				require.True(t, kept, "seed %d: %s is as it was", seed, c.Object.Name)
			}
		}
		require.LessOrEqual(t, r.orders, 4*nodes, "seed %d: a machine that does not come is ordered again, and no more", seed)
		replaced += r.orders
	}
	require.Greater(t, replaced, 60)
}
