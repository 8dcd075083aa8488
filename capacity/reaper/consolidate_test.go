package reaper_test

import (
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
	"github.com/muster-sh/muster/capacity/reaper"
)

// saving is a pool of machines with 4 CPUs for 4 and with 2 CPUs for 2.5, in which nodes are replaced that cost a fifth too much.
func saving(w *world) {
	shape := func(name, cpu, price string) v1alpha1.Shape {
		return v1alpha1.Shape{Name: name, Price: ptr.To(resource.MustParse(price)), Resources: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"),
		}}
	}
	w.pool.Spec.Template.Shapes = []v1alpha1.Shape{shape("half", "2", "2.5"), shape("s", "4", "4")}
	w.pool.Spec.ScaleDown.SavingThreshold = 20
	w.pool.Spec.ScaleDown.UtilizationThreshold = new(int32)
	w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(9)}}
}

func replacesFor(why v1alpha1.ReleaseReason, others ...int) func(*v1alpha1.NodeClaim) {
	return func(c *v1alpha1.NodeClaim) {
		for _, i := range others {
			name := capacity.SlotName("p", i)
			c.Spec.Replaces = append(c.Spec.Replaces, v1alpha1.ReplacedClaim{Name: name, UID: types.UID("claim-" + name), Reason: why})
		}
		c.Status.ReadyAt = ptr.To(metav1.NewMicroTime(start.Add(time.Hour)))
	}
}

// halves are nodes, on each of which a pod takes not quite half.
func halves(w *world, nodes int) {
	for i := range nodes {
		w.node(i)
		w.run(capacity.SlotName("pod", i), i, "1900m")
	}
}

func TestConsolidate(t *testing.T) {
	const hour = time.Hour
	for name, c := range map[string]struct {
		build    func(*world)
		after    time.Duration
		orders   string // the shape
		old      int
		released int
		reason   reaper.Reason // of p-000
		detail   string
	}{
		"a smaller machine replaces one": {
			build: func(w *world) { w.node(0); w.run("a", 0, "1500m") }, after: hour, orders: "half", old: 1,
			reason: reaper.Replacing, detail: "machine p-001 is bought first",
		},
		"and one that itself replaced another": {
			build: func(w *world) {
				w.node(0, replacesFor("Drifted", 7), func(c *v1alpha1.NodeClaim) { c.Status.ReadyAt = nil })
				w.run("a", 0, "1500m")
			}, after: hour, orders: "half", old: 1, reason: reaper.Replacing, detail: "machine p-001 is bought first",
		},
		"not while the pool's releases are frozen": {
			build: func(w *world) { w.node(0); w.run("a", 0, "1500m"); w.freeze("releases", "p") }, after: hour, reason: reaper.Frozen,
			detail: "releases are frozen by alice",
		},
		"not while its provisioning is frozen": {
			build: func(w *world) { w.node(0); w.run("a", 0, "1500m"); w.freeze("provisioning", "p") }, after: hour, reason: reaper.Occupied,
		},
		"not before pods have been there for long": {
			build: func(w *world) {
				w.node(0)
				w.run("a", 0, "1500m", func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(start.Add(51 * time.Minute)) })
			}, after: hour, reason: reaper.Occupied,
		},
		"not for less than the threshold": {
			build: func(w *world) { w.pool.Spec.ScaleDown.SavingThreshold = 38; w.node(0); w.run("a", 0, "1500m") }, after: hour, reason: reaper.Occupied,
		},
		"not unless the pool asks for it": {
			build: func(w *world) { w.pool.Spec.ScaleDown.SavingThreshold = 0; w.node(0); w.run("a", 0, "1500m") }, after: hour, reason: reaper.Occupied,
		},
		"not while a pod waits for a machine": {
			build: func(w *world) { w.node(0); w.run("a", 0, "1500m"); w.live.SetPod(waiting("b", "3"), start) }, after: hour, reason: reaper.Occupied,
		},
		"not for a budget that allows none": {
			build: func(w *world) {
				w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Reasons: []v1alpha1.ReleaseReason{"Consolidated"}}}
				w.node(0)
				w.run("a", 0, "1500m")
			}, after: hour, reason: reaper.Occupied,
		},
		"nodes go whose pods fit on the others, whatever their share": {
			build: func(w *world) { halves(w, 2) }, after: hour, released: 1, reason: reaper.Consolidated, detail: "1 for 0 instead of 4 an hour",
		},
		"but not below the headroom": {
			build: func(w *world) { w.pool.Spec.ScaleDown.Headroom = ptr.To[int32](30); halves(w, 2) }, after: hour, reason: reaper.Occupied,
		},
		"several are replaced by one": {
			build: func(w *world) { halves(w, 3) }, after: hour,
			orders: "half", old: 2, reason: reaper.Replacing, detail: "machine p-003 is bought first",
		},
		"all go when their machine is there": {
			build: func(w *world) {
				halves(w, 3)
				w.node(3, replacesFor("Consolidated", 0, 1), func(c *v1alpha1.NodeClaim) { c.Spec.Shape = "half" })
			}, after: hour, released: 2, reason: reaper.Consolidated, detail: "machine p-003 replaces it",
		},
		"none goes when one has to stay": {
			build: func(w *world) {
				halves(w, 3)
				w.node(3, replacesFor("Consolidated", 0, 1))
				w.run("bare", 1, "50m", func(p *corev1.Pod) { p.OwnerReferences = nil })
			}, after: hour, reason: reaper.Occupied, detail: "node p-001 cannot be emptied now",
		},
		"none goes while the machine is on its way": {
			build: func(w *world) {
				halves(w, 3)
				w.node(3, replacesFor("Consolidated", 0, 1), inFlight)
				w.live.ForgetNode("p-003")
			}, after: hour, reason: reaper.Replacing, detail: "machine p-003 is on its way",
		},
		"none goes when the budget is smaller now": {
			build: func(w *world) {
				w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(1)}}
				halves(w, 3)
				w.node(3, replacesFor("Consolidated", 0, 1))
			}, after: hour, reason: reaper.Budget, detail: "nodes 1: 1 of 4 are on their way out or not ready",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0)
			saving(w)
			w.pool.Spec.ScaleDown.Headroom = new(int32)
			c.build(w)
			w.live.SetPool(w.pool)
			d := w.decide(c.after)
			require.Equal(t, c.reason, d.Reasons["p-000"], d.Details["p-000"])
			require.Equal(t, c.detail, d.Details["p-000"])
			require.Len(t, d.Release, c.released)
			if c.orders == "" {
				require.Empty(t, d.Order)
				return
			}
			require.Len(t, d.Order, 1)
			require.Len(t, d.Order[0].Old, c.old)
			require.Len(t, d.Order[0].Create, 1)
			require.Equal(t, c.orders, d.Order[0].Create[0].Spec.Shape)
		})
	}
}
