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

// renewing is a pool that can grow and replaces what has drifted.
func renewing(w *world) {
	w.pool.Spec.ScaleDown.ReplaceDrifted = true
	w.pool.Spec.Template.Shapes = []v1alpha1.Shape{{Name: "s", Resources: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
	}}}
}

// drifted makes node i with a label that the template has no more.
func (w *world) drifted(i int, change ...func(*v1alpha1.NodeClaim)) {
	w.node(i, append([]func(*v1alpha1.NodeClaim){func(c *v1alpha1.NodeClaim) {
		c.Spec.Labels = map[string]string{"old": "yes"}
	}}, change...)...)
}

func aged(d time.Duration) func(*v1alpha1.NodeClaim) {
	return func(c *v1alpha1.NodeClaim) { c.Status.LaunchedAt = ptr.To(metav1.NewMicroTime(start.Add(-d))) }
}

// replaces says of a claim which others it replaces.
func replaces(i int) func(*v1alpha1.NodeClaim) {
	name := capacity.SlotName("p", i)
	return func(c *v1alpha1.NodeClaim) {
		c.Spec.Replaces = append(c.Spec.Replaces, v1alpha1.ReplacedClaim{Name: name, UID: types.UID("claim-" + name), Reason: "Drifted"})
		c.Status.ReadyAt = ptr.To(metav1.NewMicroTime(start))
	}
}

func inFlight(c *v1alpha1.NodeClaim) { c.Status.State = v1alpha1.ClaimLaunching }

func TestRenew(t *testing.T) {
	for name, c := range map[string]struct {
		build  func(*world)
		want   reaper.Reason // of p-001
		detail string
		orders int
	}{
		"a drifted node goes when its pods fit elsewhere": {
			build: func(w *world) { w.node(0); w.run("busy", 0, "3"); w.drifted(1); w.run("lonely", 1, "1") },
			want:  reaper.Drifted, detail: "labels",
		},
		"though it is busy": {
			build: func(w *world) { w.node(0); w.run("busy", 0, "1"); w.drifted(1); w.run("large", 1, "3") },
			want:  reaper.Drifted, detail: "labels",
		},
		"and without pods, before it was empty for long": {
			build: func(w *world) { w.drifted(1) }, want: reaper.Drifted, detail: "labels",
		},
		"its replacement is bought where they do not": {
			build: func(w *world) { w.node(0); w.run("busy", 0, "3"); w.drifted(1); w.run("large", 1, "2") },
			want:  reaper.Replacing, detail: "machine p-002 is bought first", orders: 1,
		},
		"and where the pool has its minimum": {
			build: func(w *world) { w.pool.Spec.Limits.MinNodes = 1; w.drifted(1); w.run("a", 1, "1") },
			want:  reaper.Replacing, detail: "machine p-000 is bought first", orders: 1,
		},
		"and for an empty one of the minimum": {
			build: func(w *world) { w.pool.Spec.Limits.MinNodes = 1; w.drifted(1) },
			want:  reaper.Replacing, detail: "machine p-000 is bought first", orders: 1,
		},
		"once only": {
			build: func(w *world) {
				w.drifted(1)
				w.run("large", 1, "2")
				w.node(2, replaces(1), inFlight)
				w.live.ForgetNode("p-002")
			}, want: reaper.Replacing, detail: "machine p-002 is on its way",
		},
		"it goes when the replacement is there": {
			build: func(w *world) { w.drifted(1); w.run("large", 1, "2"); w.node(2, replaces(1)) }, want: reaper.Drifted, detail: "labels",
		},
		"no pod moves to a node that is to go itself": {
			build: func(w *world) {
				w.drifted(0, aged(0))
				w.run("small", 0, "1")
				w.drifted(1, aged(time.Hour))
				w.run("other", 1, "1")
			},
			want: reaper.Replacing, detail: "machine p-002 is bought first", orders: 1,
		},
		"unless the pool is full": {
			build: func(w *world) {
				w.pool.Spec.Limits.MaxNodes = 2
				w.drifted(0, aged(0))
				w.run("small", 0, "1")
				w.drifted(1, aged(time.Hour))
				w.run("other", 1, "1")
			}, want: reaper.Drifted, detail: "labels",
		},
		"it stays where no machine can be bought": {
			build: func(w *world) { w.pool.Spec.Limits.MaxNodes = 1; w.drifted(1); w.run("large", 1, "2") },
			want:  reaper.NoRoom, detail: "pod default/large: no pool can take it: p: limit reached: maxNodes 1",
		},
		"it stays for a protected pod": {
			build: func(w *world) {
				w.drifted(1)
				w.run("dear", 1, "1", func(p *corev1.Pod) { p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
			}, want: "ProtectedPod", detail: "pod default/dear",
		},
		"it stays for a disruption budget": {
			build: func(w *world) { w.drifted(1); w.run("a", 1, "1", labelled); w.protect("pdb", 0) },
			want:  reaper.PodBudget, detail: "budget pdb keeps pod default/a",
		},
		"it stays for the pool's budget": {
			build: func(w *world) {
				w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Reasons: []v1alpha1.ReleaseReason{"Drifted"}}}
				w.drifted(1)
				w.run("a", 1, "1")
			}, want: reaper.Budget, detail: "nodes 0: 0 of 1 are on their way out or not ready",
		},
		"one whose replacement is on its way counts for the budget": {
			build: func(w *world) {
				w.drifted(0)
				w.run("a", 0, "3")
				w.drifted(1)
				w.run("b", 1, "3")
				w.node(2, replaces(0), inFlight)
				w.live.ForgetNode("p-002")
			}, want: reaper.Budget, detail: "nodes 10% without a budget: 1 of 2 are on their way out or not ready",
		},
		"it stays while machines are to be bought for others": {
			build: func(w *world) { w.drifted(1); w.run("a", 1, "3"); w.live.SetPod(waiting("large", "3"), start) },
			want:  reaper.Growing, detail: "machines are to be bought for pods that wait",
		},
		"it stays after a drain in vain": {
			build: func(w *world) {
				w.drifted(1, func(c *v1alpha1.NodeClaim) {
					c.Status.DrainAgain = ptr.To(metav1.NewMicroTime(start.Add(time.Hour)))
				})
				w.run("a", 1, "1")
			}, want: reaper.BackingOff,
		},
		"it stays where the pool does not ask for it": {
			build: func(w *world) { w.pool.Spec.ScaleDown.ReplaceDrifted = false; w.drifted(1); w.run("large", 1, "3") },
			want:  reaper.Occupied,
		},
		"a node that is too old goes": {
			build: func(w *world) {
				w.pool.Spec.ScaleDown.ExpireAfter = &metav1.Duration{Duration: 24 * time.Hour}
				w.node(0)
				w.node(1, aged(23*time.Hour+59*time.Minute))
				w.run("a", 1, "3")
			}, want: reaper.Expired, detail: "older than 24h0m0s",
		},
		"one a moment younger does not": {
			build: func(w *world) {
				w.pool.Spec.ScaleDown.ExpireAfter = &metav1.Duration{Duration: 24 * time.Hour}
				w.node(1, aged(23*time.Hour+59*time.Minute-1000))
				w.run("a", 1, "3")
			}, want: reaper.Occupied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0)
			renewing(w)
			c.build(w)
			w.live.SetPool(w.pool)
			w.pool.Spec.ScaleDown.IdleAfter = &metav1.Duration{Duration: time.Hour}
			d := w.decide(time.Minute)
			require.Equal(t, c.want, d.Reasons["p-001"], d.Details["p-001"])
			require.Equal(t, c.detail, d.Details["p-001"])
			require.Len(t, d.Order, c.orders)
			released := 0
			if c.want == reaper.Drifted || c.want == reaper.Expired {
				released = 1
			}
			require.Len(t, d.Release, released)
			if released > 0 {
				require.Equal(t, c.detail, d.Release[0].Message)
				require.Equal(t, len(d.Release[0].Pods) > 0, d.Release[0].Drain != nil)
			}
			for _, o := range d.Order {
				require.Len(t, o.Create, 1)
				require.Empty(t, o.Create[0].Spec.Reserved)
				require.Equal(t, []v1alpha1.ReplacedClaim{{Name: "p-001", UID: "claim-p-001", Reason: "Drifted"}}, o.Create[0].Spec.Replaces)
			}
		})
	}
}

func TestANewMachineIsKeptForThePodsOfTheOneItReplaces(t *testing.T) {
	w := newWorld(0)
	renewing(w)
	w.live.SetPool(w.pool)
	w.drifted(1)
	w.run("dear", 1, "1", labelled)
	w.protect("pdb", 0)
	w.node(2, replaces(1))
	d := w.decide(9 * time.Minute)
	require.Equal(t, reaper.Replacing, d.Reasons["p-002"])
	require.Equal(t, reaper.PodBudget, d.Reasons["p-001"])
	require.Equal(t, reaper.Idle, w.decide(10 * time.Minute).Reasons["p-002"], "it was bought in vain")
	w.drifted(1, func(c *v1alpha1.NodeClaim) {
		c.ResourceVersion, c.Spec.Release = "2", &v1alpha1.Release{Reason: "Drifted", Drain: &v1alpha1.Drain{}}
	})
	require.Equal(t, reaper.Replacing, w.decide(10 * time.Minute).Reasons["p-002"], "pods are on their way")
}

func TestAsManyDriftedNodesGoAtOnceAsTheBudgetAllows(t *testing.T) {
	w := newWorld(0)
	renewing(w)
	w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(2)}}
	w.live.SetPool(w.pool)
	w.node(9)
	for i := range 3 {
		w.drifted(i, aged(time.Duration(9-i)*time.Hour))
		w.run(capacity.SlotName("pod", i), i, "500m")
	}
	d := w.decide(time.Second)
	require.Equal(t, map[string]reaper.Reason{
		"p-000": reaper.Drifted, "p-001": reaper.Drifted, "p-002": reaper.Budget, "p-009": reaper.Waiting,
	}, d.Reasons)
}
