package reaper_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
	"github.com/muster-sh/muster/capacity/reaper"
)

// run has a pod of a ReplicaSet run on node i.
func (w *world) run(name string, i int, cpu string, change ...func(*corev1.Pod)) {
	all := append([]func(*corev1.Pod){replica, asking(cpu)}, change...)
	w.live.SetPod(pod(name, capacity.SlotName("p", i), all...), start)
}

func replica(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "rs", Controller: ptr.To(true)}}
}

func asking(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
}

func labelled(p *corev1.Pod) { p.Labels = map[string]string{"app": "a"} }

func (w *world) protect(name string, allowed int32) {
	w.live.SetDisruptionBudget(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	})
}

// scarce is a busy node 0 with room for one pod of 1 CPU, and node 1 with such a pod. The pool keeps no headroom.
func scarce(w *world) {
	w.pool.Spec.ScaleDown.Headroom = new(int32)
	w.node(0)
	w.node(1)
	w.run("busy", 0, "3")
	w.run("lonely", 1, "1")
}

func TestUnderused(t *testing.T) {
	const after = 10 * time.Minute
	for name, c := range map[string]struct {
		build  func(*world)
		after  time.Duration
		want   reaper.Reason
		detail string
	}{
		"goes when its pod fits elsewhere": {build: scarce, after: after, want: reaper.Underused},
		"stays a moment less than the period": {
			build: scarce, after: after - 1, want: reaper.Waiting,
		},
		"stays when the pod fits nowhere else": {
			build: func(w *world) { scarce(w); w.run("more", 0, "500m") }, after: after, want: reaper.NoRoom, detail: "pod default/lonely",
		},
		"stays when too little would be left free": {
			build: func(w *world) { scarce(w); w.pool.Spec.ScaleDown.Headroom = ptr.To[int32](10) }, after: after,
			want: reaper.Headroom, detail: "pool p would have less than 10% left free",
		},
		"stays when as much as the threshold is asked for": {
			build: func(w *world) { scarce(w); w.pool.Spec.ScaleDown.UtilizationThreshold = ptr.To[int32](25) }, after: after, want: reaper.Occupied,
		},
		"counts memory as well": {
			build: func(w *world) {
				scarce(w)
				w.run("fat", 1, "100m", func(p *corev1.Pod) {
					p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("4Gi")
				})
			}, after: after, want: reaper.Occupied,
		},
		"counts DaemonSet pods": {
			build: func(w *world) { scarce(w); w.run("agent", 1, "1", daemon) }, after: after, want: reaper.Occupied,
		},
		"never goes where the threshold is zero": {
			build: func(w *world) { scarce(w); w.pool.Spec.ScaleDown.UtilizationThreshold = new(int32) }, after: after, want: reaper.Occupied,
		},
		"stays for a bare pod": {
			build: func(w *world) { scarce(w); w.live.SetPod(pod("bare", "p-001", asking("50m")), start) }, after: after,
			want: "BarePod", detail: "pod default/bare",
		},
		"stays for a protected pod": {
			build: func(w *world) {
				scarce(w)
				w.run("dear", 1, "50m", func(p *corev1.Pod) { p.Annotations = map[string]string{"karpenter.sh/do-not-disrupt": "true"} })
			}, after: after, want: "ProtectedPod", detail: "pod default/dear",
		},
		"stays for a budget that allows nothing": {
			build: func(w *world) {
				scarce(w)
				w.run("lonely", 1, "1", labelled)
				w.protect("pdb", 0)
			}, after: after, want: reaper.PodBudget, detail: "budget pdb keeps pod default/lonely",
		},
		"goes with a budget that allows one": {
			build: func(w *world) { scarce(w); w.run("lonely", 1, "1", labelled); w.protect("pdb", 1) }, after: after, want: reaper.Underused,
		},
		"stays for a pod with two budgets": {
			build: func(w *world) {
				scarce(w)
				w.run("lonely", 1, "1", labelled)
				w.protect("one", 1)
				w.protect("two", 1)
			}, after: after, want: reaper.PodBudget,
			detail: "pod default/lonely has 2 budgets, and the Eviction API takes no pod with more than one",
		},
		"leaves room to the pods that wait": {
			build: func(w *world) { scarce(w); w.live.SetPod(waiting("first", "1"), start) }, after: after, want: reaper.NoRoom, detail: "pod default/lonely",
		},
		"stays while machines are to be bought": {
			build: func(w *world) {
				scarce(w)
				w.pool.Spec.Template.Shapes = []v1alpha1.Shape{{Name: "s", Resources: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("8Gi"),
				}}}
				w.live.SetPod(waiting("large", "6"), start)
			}, after: after, want: reaper.Growing, detail: "machines are to be bought for pods that wait",
		},
		"stays while machines of its pool are on their way": {
			build: func(w *world) {
				scarce(w)
				w.node(2, func(c *v1alpha1.NodeClaim) { c.Status.State = v1alpha1.ClaimLaunching })
				w.live.ForgetNode("p-002")
			}, after: after, want: reaper.Growing, detail: "machines of this pool are on their way",
		},
		"moves no pod to a node that is empty": {
			build: func(w *world) {
				scarce(w)
				w.pool.Spec.ScaleDown.IdleAfter = &metav1.Duration{Duration: time.Hour}
				w.run("more", 0, "500m")
				w.node(2)
			}, after: after, want: reaper.NoRoom, detail: "pod default/lonely",
		},
		"moves no pod to a node that does not answer": {
			build: func(w *world) {
				scarce(w)
				w.mark(0, out)
				w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(9)}}
			}, after: after, want: reaper.NoRoom, detail: "pod default/lonely",
		},
		"stays after a drain in vain": {
			build: func(w *world) {
				scarce(w)
				w.node(1, func(c *v1alpha1.NodeClaim) {
					c.Status.DrainAgain = ptr.To(metav1.NewMicroTime(start.Add(after + 1)))
				})
			}, after: after, want: reaper.BackingOff,
		},
		"keeps the minimum": {
			build: func(w *world) { scarce(w); w.pool.Spec.Limits.MinNodes = 2 }, after: after, want: reaper.MinNodes,
		},
		"keeps a budget": {
			build: func(w *world) { scarce(w); w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{}} }, after: after,
			want: reaper.Budget, detail: "nodes 0: 0 of 2 are on their way out or not ready",
		},
		"stays when a pod of a node that goes already needs the room": {
			build: func(w *world) {
				scarce(w)
				w.closed(2, -time.Minute, func(c *v1alpha1.NodeClaim) { c.Spec.Release.Drain = &v1alpha1.Drain{} })
				w.run("leaving", 2, "500m")
				w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromString("100%")}}
			}, after: after, want: reaper.NoRoom, detail: "pod default/lonely",
		},
		"stays when its pod would rather go to the spare node than to one of its kind": {
			build: func(w *world) { scarce(w); spareNode(w) }, after: after,
			want: reaper.Drawn, detail: "pod default/lonely would rather go to node p-002",
		},
		"stays when its pod would rather go to the spare node than to one with a taint to be avoided": {
			build: func(w *world) {
				scarce(w)
				spareNode(w)
				w.run("lonely", 1, "1", ofJob)
				w.mark(0, func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
				})
			}, after: after,
			want: reaper.Drawn, detail: "pod default/lonely would rather go to node p-002",
		},
		"goes when its pod has no reason to take the spare node": {
			build: func(w *world) { scarce(w); spareNode(w); w.run("lonely", 1, "1", ofJob) }, after: after, want: reaper.Underused,
		},
		"keeps topology spread": {
			build: func(w *world) {
				scarce(w)
				w.run("lonely", 1, "1", labelled, spread)
				w.run("sibling", 0, "10m", labelled, spread)
			}, after: after, want: reaper.NoRoom, detail: "pod default/lonely",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0)
			c.build(w)
			w.live.SetPool(w.pool)
			d := w.decide(c.after)
			require.Equal(t, c.want, d.Reasons["p-001"], d.Details["p-001"])
			require.Equal(t, c.detail, d.Details["p-001"])
			if c.want != reaper.Underused {
				require.Empty(t, d.Release)
				return
			}
			require.Len(t, d.Release, 1)
			r := d.Release[0]
			require.Equal(t, "p-001", r.Claim.Name)
			require.Equal(t, 15*time.Minute, r.Drain.Timeout.Duration)
			require.Len(t, r.Pods, 1)
		})
	}
}

func spread(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
	}}
}

func ofJob(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }

// spareNode is node 2, which the pool keeps without pods.
func spareNode(w *world) {
	w.node(2)
	w.pool.Spec.Spare = ptr.To(intstr.FromInt32(1))
}

func TestSeveralGoTogetherAndNoneThatReceives(t *testing.T) {
	w := newWorld(0)
	w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromString("100%")}}
	for i := range 4 {
		w.node(i)
		w.run(fmt.Sprint("pod", i), i, []string{"1", "900m", "800m", "700m"}[i])
	}
	d := w.decide(time.Hour)
	require.Equal(t, map[string]reaper.Reason{
		"p-000": reaper.Receiving, "p-001": reaper.Underused, "p-002": reaper.Underused, "p-003": reaper.Underused,
	}, d.Reasons)
}

func TestMovesAreLookedForEverySoOften(t *testing.T) {
	w := newWorld(0)
	scarce(w)
	v := w.live.View()
	m := reaper.Memory{}.Follow(v, start)
	m.Moved = start.Add(time.Hour)
	d := reaper.Decide(v, m, start.Add(time.Hour+9*time.Second))
	require.Equal(t, reaper.Waiting, d.Reasons["p-001"])
	require.Equal(t, time.Second, d.Next)
	require.False(t, d.Looked)
	d = reaper.Decide(v, m, start.Add(time.Hour+10*time.Second))
	require.True(t, d.Looked)
	require.Len(t, d.Release, 1)
}

// What is decided is safe: within budgets and minimum, no pod that is to stay, and nothing that the planner buys back.
func TestWhatIsEmptiedIsNotBoughtBack(t *testing.T) {
	emptied := 0
	for seed := range uint64(300) {
		w, rng := newWorld(0), rand.New(rand.NewPCG(seed, 7))
		w.crowd(rng)
		v := w.live.View()
		d := reaper.Decide(v, reaper.Memory{}.Follow(v, start), start.Add(0))
		require.Empty(t, d.Release, "seed %d", seed)
		m := reaper.Memory{}.Follow(v, start)
		d = reaper.Decide(v, m, start.Add(time.Hour))
		require.Equal(t, d, reaper.Decide(v, m, start.Add(time.Hour)), "seed %d: the same again", seed)
		require.Len(t, d.Reasons, len(v.Claims), "seed %d", seed)
		emptied += w.judge(t, seed, v, d)
	}
	require.Greater(t, emptied, 100, "the worlds let nodes go")
}

// crowd makes up to ten nodes with all sorts of pods.
func (w *world) crowd(rng *rand.Rand) {
	w.pool.Spec.Limits = v1alpha1.Limits{MaxNodes: 20, MinNodes: int32(rng.IntN(4))}
	w.pool.Spec.ScaleDown.Headroom = ptr.To(int32(rng.IntN(20)))
	w.pool.Spec.ScaleDown.UtilizationThreshold = ptr.To(int32(20 + rng.IntN(60)))
	if rng.IntN(3) > 0 {
		w.pool.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt(rng.IntN(6))}}
	}
	w.pool.Spec.Template.Shapes = []v1alpha1.Shape{{Name: "s", Resources: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
	}}}
	w.live.SetPool(w.pool)
	for i := range 2 + rng.IntN(8) {
		w.node(i)
		for j := range rng.IntN(4) {
			change := []func(*corev1.Pod){}
			for _, c := range []func(*corev1.Pod){labelled, spread, daemon, func(p *corev1.Pod) { p.OwnerReferences = nil },
				func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} }} {
				if rng.IntN(8) == 0 {
					change = append(change, c)
				}
			}
			w.run(fmt.Sprintf("pod-%d-%d", i, j), i, fmt.Sprintf("%dm", 100+rng.IntN(900)), change...)
		}
	}
	if rng.IntN(2) == 0 {
		w.protect("pdb", int32(rng.IntN(3)))
	}
}

func (w *world) judge(t *testing.T, seed uint64, v *capacity.View, d reaper.Decision) (emptied int) {
	var claims []*v1alpha1.NodeClaim
	moved, disrupted := map[string][]*capacity.Pod{}, map[types.UID]bool{}
	for _, r := range d.Release {
		claims = append(claims, r.Claim)
		if r.Reason == reaper.Idle {
			continue
		}
		emptied++
		for _, p := range r.Pods {
			if p.Terminating {
				continue
			}
			require.Empty(t, p.Stays(v.Schedulers, false), "seed %d: %s", seed, p.Key())
			moved[r.Claim.Name] = append(moved[r.Claim.Name], p)
			disrupted[p.UID] = true
		}
	}
	require.GreaterOrEqual(t, len(v.Claims)-len(claims), min(int(w.pool.Spec.Limits.MinNodes), len(v.Claims)), "seed %d", seed)
	if b := w.pool.Spec.ScaleDown.Budgets; len(b) > 0 {
		require.LessOrEqual(t, len(claims), b[0].Nodes.IntValue(), "seed %d", seed)
	} else {
		require.LessOrEqual(t, emptied, 1, "seed %d: a tenth of ten", seed)
	}
	plan := planner.Plan(v.Without(claims, moved), start.Add(time.Hour))
	for _, c := range plan.Creates {
		require.Empty(t, c.Pods, "seed %d: it would buy %s again", seed, c.Claim.Name)
	}
	for uid := range disrupted {
		require.NotEmpty(t, plan.Outcomes[uid].Node, "seed %d: pod %s has nowhere to go", seed, uid)
	}
	return emptied
}
