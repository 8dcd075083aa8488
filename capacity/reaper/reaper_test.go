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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/provider/gate"
)

var start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// world is a cluster of nodes of one pool, each with its claim.
type world struct {
	live  *capacity.Live
	pool  *v1alpha1.NodePool
	nodes map[int]*corev1.Node
}

func newWorld(minNodes int32) *world {
	w := &world{
		live:  capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")}),
		nodes: map[int]*corev1.Node{},
		pool: &v1alpha1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Name: "p"},
			Spec: v1alpha1.NodePoolSpec{
				Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 10, MinNodes: minNodes},
				ScaleDown: v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: time.Minute}},
			},
		},
	}
	w.live.SetPool(w.pool)
	w.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	return w
}

func (w *world) freeze(key, pools string) {
	w.live.SetFreeze(gate.ParseFreeze(map[string]string{key: pools, "by": "alice"}))
}

func (w *world) node(i int, change ...func(*v1alpha1.NodeClaim)) {
	name := capacity.SlotName("p", i)
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	claim := &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("claim-" + name), ResourceVersion: "1"},
		Spec:       v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim", Shape: "s", Resources: resources},
		Status:     v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: name},
	}
	for _, c := range change {
		c(claim)
	}
	w.nodes[i] = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.PoolLabel: "p"}},
		Status:     corev1.NodeStatus{Allocatable: resources},
	}
	w.live.SetNode(w.nodes[i], start)
	w.live.SetClaim(claim)
}

func pod(name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: node, SchedulerName: "muster", Containers: []corev1.Container{{
			Name:      "c",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func daemon(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", UID: "ds", Controller: ptr.To(true)}}
}

// decide looks twice: when the nodes became empty, and after the idle time.
func (w *world) decide(after time.Duration) reaper.Decision {
	memory := reaper.Memory{}.Follow(w.live.View(), start)
	v := w.live.View()
	return reaper.Decide(v, memory.Follow(v, start.Add(after)), start.Add(after))
}

func annotated(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{key: "true"} }
}

func out(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}}
}

func TestDecide(t *testing.T) {
	reserved := func(c *v1alpha1.NodeClaim) {
		c.Spec.Reserved = []v1alpha1.PodReference{{Namespace: "default", Name: "wanted", UID: "wanted"}}
	}
	cases := map[string]struct {
		min   int32
		build func(*world)
		after time.Duration
		want  reaper.Reason
	}{
		"releases a node that was empty for the idle time": {
			build: func(w *world) { w.node(0) }, after: time.Minute, want: reaper.Idle,
		},
		"spares a node that is empty for a moment less": {
			build: func(w *world) { w.node(0) }, after: time.Minute - 1, want: reaper.Waiting,
		},
		"spares an idle node while the pool's releases are frozen": {
			build: func(w *world) { w.node(0); w.freeze("releases", "p") }, after: time.Hour, want: reaper.Frozen,
		},
		"spares an idle node while what is frozen cannot be read": {
			build: func(w *world) { w.node(0); w.freeze("releases", "") }, after: time.Hour, want: reaper.Frozen,
		},
		"releases an idle node while another pool's releases are frozen": {
			build: func(w *world) { w.node(0); w.freeze("releases", "other") }, after: time.Hour, want: reaper.Idle,
		},
		"releases an idle node while provisioning is frozen": {
			build: func(w *world) { w.node(0); w.freeze("provisioning", "*") }, after: time.Hour, want: reaper.Idle,
		},
		"spares a node that still runs pods": {
			build: func(w *world) {
				w.node(0)
				w.live.SetPod(pod("a", "p-000"), start)
				w.live.SetPod(pod("b", "p-000"), start)
			}, after: time.Hour, want: reaper.Occupied,
		},
		"does not count DaemonSet pods": {
			build: func(w *world) { w.node(0); w.live.SetPod(pod("a", "p-000", daemon), start) }, after: time.Minute, want: reaper.Idle,
		},
		"does not count mirror pods": {
			build: func(w *world) {
				w.node(0)
				w.live.SetPod(pod("a", "p-000", func(p *corev1.Pod) {
					p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
				}), start)
			}, after: time.Minute, want: reaper.Idle,
		},
		"does not count finished pods": {
			build: func(w *world) {
				w.node(0)
				w.live.SetPod(pod("a", "p-000", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), start)
			}, after: time.Minute, want: reaper.Idle,
		},
		"spares a node that a pod terminates on": {
			build: func(w *world) {
				w.node(0)
				w.live.SetPod(pod("a", "p-000", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} }), start)
			}, after: time.Hour, want: reaper.Occupied,
		},
		"spares a node that a pod is nominated to": {
			build: func(w *world) {
				w.node(0)
				w.live.SetPod(pod("a", "", func(p *corev1.Pod) { p.Status.NominatedNodeName = "p-000" }), start)
			}, after: time.Hour, want: reaper.Held,
		},
		"spares a node while the pods it was ordered for are on their way": {
			build: func(w *world) { w.node(0, reserved); w.live.SetPod(pod("wanted", ""), start) }, after: time.Hour, want: reaper.Reserved,
		},
		"spares a node that a waiting pod would fit on": {
			build: func(w *world) {
				w.node(0)
				w.live.SetPod(pod("a", "", func(p *corev1.Pod) {
					p.Status.Conditions = []corev1.PodCondition{{
						Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
					}}
				}), start)
			}, after: time.Hour, want: reaper.InDemand,
		},
		"keeps the minimum": {
			min: 1, build: func(w *world) { w.node(0) }, after: time.Hour, want: reaper.MinNodes,
		},
		"keeps a pool whose scale-down is disabled": {
			build: func(w *world) { w.node(0); w.pool.Spec.ScaleDown.Disabled = true }, after: time.Hour, want: reaper.Disabled,
		},
		"keeps what nobody speaks for": {
			build: func(w *world) { w.node(0); w.live.ForgetPool("p") }, after: time.Hour, want: reaper.NoPool,
		},
		"keeps a claim that is marked": {
			build: func(w *world) {
				w.node(0, func(c *v1alpha1.NodeClaim) {
					c.Annotations = map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}
				})
			}, after: time.Hour, want: reaper.Protected,
		},
		"keeps a node that is marked": {
			build: func(w *world) { w.node(0); w.mark(0, annotated(v1alpha1.DoNotReleaseAnnotation)) }, after: time.Hour, want: reaper.Protected,
		},
		"keeps a node that is marked for cluster-autoscaler": {
			build: func(w *world) { w.node(0); w.mark(0, annotated(v1alpha1.ScaleDownDisabledAnnotation)) },
			after: time.Hour, want: reaper.Protected,
		},
		"keeps a node that is marked for Karpenter": {
			build: func(w *world) { w.node(0); w.mark(0, annotated(v1alpha1.DoNotDisruptAnnotation)) }, after: time.Hour, want: reaper.Protected,
		},
		"keeps a machine whose provider does not answer": {
			build: func(w *world) {
				w.node(0)
				w.live.SetProvider(&v1alpha1.Provider{
					ObjectMeta: metav1.ObjectMeta{Name: "sim"},
					Status: v1alpha1.ProviderStatus{Conditions: []metav1.Condition{{
						Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ListFailed",
					}}},
				})
			}, after: time.Hour, want: reaper.NoProvider,
		},
		"keeps everything while a third of the nodes is out": {
			build: func(w *world) {
				for i := range 6 {
					w.node(i)
				}
				w.mark(4, out)
				w.mark(5, out)
			}, after: time.Hour, want: reaper.Outage,
		},
		"takes one node that is out for no outage": {
			build: func(w *world) { w.node(0); w.node(1); w.mark(1, out); w.live.SetPod(pod("a", "p-001"), start) },
			after: time.Hour, want: reaper.Idle,
		},
		"does not count nodes that are closed as out": {
			build: func(w *world) {
				w.node(0)
				w.closed(1, 0)
				w.closed(2, 0)
				w.mark(1, out)
				w.mark(2, out)
			}, after: time.Hour, want: reaper.Idle,
		},
		"leaves a claim alone that is not ready": {
			build: func(w *world) {
				w.node(0, func(c *v1alpha1.NodeClaim) { c.Status.State = v1alpha1.ClaimStarting })
			}, after: time.Hour, want: reaper.NotReady,
		},
		"leaves a claim alone that is being released": {
			build: func(w *world) {
				w.node(0, func(c *v1alpha1.NodeClaim) { c.Spec.Release = &v1alpha1.Release{Reason: "Idle"} })
			}, after: time.Hour, want: reaper.NotReady,
		},
		"does not act on a node that is not in the view": {
			build: func(w *world) { w.node(0); w.live.ForgetNode("p-000") }, after: time.Hour, want: reaper.Unconfirmed,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.min)
			c.build(w)
			d := w.decide(c.after)
			require.Equal(t, c.want, d.Reasons["p-000"])
			if c.want == reaper.Idle {
				require.Len(t, d.Release, 1)
			} else {
				require.Empty(t, d.Release)
			}
		})
	}
}

func TestDecideSaysWhenToLookAgain(t *testing.T) {
	w := newWorld(0)
	w.node(0)
	require.Equal(t, 20*time.Second, w.decide(40*time.Second).Next)
}

func TestTheClockStartsAnewWhenAPodWasThere(t *testing.T) {
	w := newWorld(0)
	w.node(0)
	empty := reaper.Memory{}.Follow(w.live.View(), start)
	w.live.SetPod(pod("a", "p-000"), start)
	empty = empty.Follow(w.live.View(), start.Add(30*time.Second))
	w.live.ForgetPod("a")
	v := w.live.View()
	empty = empty.Follow(v, start.Add(40*time.Second))
	require.Equal(t, reaper.Waiting, reaper.Decide(v, empty, start.Add(99*time.Second)).Reasons["p-000"])
	require.Equal(t, reaper.Idle, reaper.Decide(v, empty, start.Add(100*time.Second)).Reasons["p-000"])
}

func TestNeverBelowTheMinimumAndNeverAnOccupiedNode(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(int32(rng.IntN(5)))
		nodes, occupied := 1+rng.IntN(8), map[string]bool{}
		for i := range nodes {
			w.node(i)
			if rng.IntN(2) == 0 {
				name := capacity.SlotName("p", i)
				w.live.SetPod(pod(fmt.Sprint("pod", i), name), start)
				occupied[name] = true
			}
		}
		d := w.decide(time.Duration(rng.IntN(120)) * time.Second)
		require.Len(t, d.Reasons, nodes, "a reason for every node, seed %d", seed)
		if len(d.Release) > 0 {
			require.GreaterOrEqual(t, nodes-len(d.Release), int(w.pool.Spec.Limits.MinNodes), "seed %d", seed)
		}
		for _, c := range d.Release {
			require.False(t, occupied[c.Claim.Name], "seed %d", seed)
		}
	}
}
