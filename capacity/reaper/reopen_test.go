package reaper_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// closed is node i in release since some time after start, cordoned and tainted by us.
func (w *world) closed(i int, since time.Duration, change ...func(*v1alpha1.NodeClaim)) {
	w.node(i, append([]func(*v1alpha1.NodeClaim){func(c *v1alpha1.NodeClaim) {
		c.Spec.Release = &v1alpha1.Release{Reason: "Idle", Since: metav1.NewMicroTime(start.Add(since))}
		c.Status.State = v1alpha1.ClaimDraining
	}}, change...)...)
	w.mark(i, func(n *corev1.Node) {
		n.Annotations = map[string]string{v1alpha1.CordonedAnnotation: "true"}
		n.Spec.Taints = []corev1.Taint{
			{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}, // kube-controller-manager's answer to the cordon
		}
		n.Spec.Unschedulable = true
	})
}

func (w *world) mark(i int, change func(*corev1.Node)) {
	n := w.nodes[i].DeepCopy()
	change(n)
	w.live.SetNode(n, start)
}

// waiting is a pod that the scheduler found no node for.
func waiting(name, cpu string) *corev1.Pod {
	return pod(name, "", func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	})
}

func TestReopen(t *testing.T) {
	state := func(s v1alpha1.ClaimState) func(*v1alpha1.NodeClaim) {
		return func(c *v1alpha1.NodeClaim) { c.Status.State = s }
	}
	for name, c := range map[string]struct {
		build func(*world)
		want  map[string]reaper.Reason
	}{
		"nobody waits": {build: func(w *world) { w.closed(0, 0) }},
		"a pod waits that fits nowhere else": {
			build: func(w *world) { w.closed(0, 0); w.live.SetPod(waiting("a", "3"), start) },
			want:  map[string]reaper.Reason{"p-000": reaper.Demand},
		},
		"a pod waits that fits on an open node": {
			build: func(w *world) { w.closed(0, 0); w.node(1); w.live.SetPod(waiting("a", "3"), start) },
		},
		"two pods wait and the open node takes one": {
			build: func(w *world) {
				w.closed(0, 0)
				w.node(1)
				w.live.SetPod(waiting("a", "3"), start)
				w.live.SetPod(waiting("b", "3"), start)
			},
			want: map[string]reaper.Reason{"p-000": reaper.Demand},
		},
		"the node that was closed last comes first, and no more than are needed": {
			build: func(w *world) {
				w.closed(0, time.Second)
				w.closed(1, 3*time.Second)
				w.closed(2, 2*time.Second)
				for _, name := range []string{"a", "b", "c"} {
					w.live.SetPod(waiting(name, "2"), start)
				}
			},
			want: map[string]reaper.Reason{"p-001": reaper.Demand, "p-002": reaper.Demand},
		},
		"a pod waits that no node takes": {
			build: func(w *world) { w.closed(0, 0); w.live.SetPod(waiting("a", "5"), start) },
		},
		"a pod waits whose own machine is on its way": {
			build: func(w *world) {
				w.closed(0, 0)
				w.live.SetClaim(&v1alpha1.NodeClaim{
					ObjectMeta: metav1.ObjectMeta{Name: "p-001", UID: "claim-p-001"},
					Spec: v1alpha1.NodeClaimSpec{
						Pool: "p", Provider: "sim", Shape: "s", Resources: w.nodes[0].Status.Allocatable,
						Reserved: []v1alpha1.PodReference{{Namespace: "default", Name: "a", UID: "a"}},
					},
					Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimLaunching},
				})
				w.live.SetPod(waiting("a", "3"), start)
			},
		},
		"a late binding reached the node": {
			build: func(w *world) { w.closed(0, 0); w.live.SetPod(pod("late", "p-000"), start) },
			want:  map[string]reaper.Reason{"p-000": reaper.Came},
		},
		"the pod that came leaves again": {
			build: func(w *world) {
				w.closed(0, 0)
				w.live.SetPod(pod("late", "p-000", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: start} }), start)
			},
		},
		"DaemonSet pods may stay on a node that goes": {
			build: func(w *world) { w.closed(0, 0); w.live.SetPod(pod("agent", "p-000", daemon), start) },
		},
		"the machine is being given back already": {
			build: func(w *world) {
				w.closed(0, 0, state(v1alpha1.ClaimReleasing))
				w.live.SetPod(waiting("a", "3"), start)
			},
		},
		"the claim was deleted by its owner": {
			build: func(w *world) {
				w.closed(0, 0, func(c *v1alpha1.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: start} })
				w.live.SetPod(waiting("a", "3"), start)
			},
		},
		"somebody else asked for the release": {
			build: func(w *world) {
				w.closed(0, 0, func(c *v1alpha1.NodeClaim) { c.Spec.Release.Reason = "Maintenance" })
				w.live.SetPod(pod("still-there", "p-000"), start)
				w.live.SetPod(waiting("a", "2"), start)
			},
		},
		"somebody else cordoned the node": {
			build: func(w *world) {
				w.closed(0, 0)
				w.mark(0, func(n *corev1.Node) { n.Spec.Unschedulable = true })
				w.live.SetPod(waiting("a", "3"), start)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(0)
			c.build(w)
			got := map[string]reaper.Reason{}
			for _, r := range reaper.Decide(w.live.View(), reaper.Memory{}, start).Reopen {
				got[r.Claim.Name] = r.Reason
			}
			if c.want == nil {
				c.want = map[string]reaper.Reason{}
			}
			require.Equal(t, c.want, got)
		})
	}
}

// What one pod alone is refused does not count for the others that ask for the same.
func TestRoomThatOnePodIsRefusedIsSeenByTheNext(t *testing.T) {
	w := newWorld(0)
	w.closed(0, 0)
	w.node(1)
	a, b := waiting("a", "3"), waiting("b", "3")
	w.live.SetPod(a, start)
	// The scheduler's own filters left out the open node for the first pod.
	_, err := w.live.Place(t.Context(), capacity.Call{
		Number: 1, Pod: w.live.Compile(a), Nodes: []string{"p-000"}, Now: start.Add(time.Minute),
	})
	require.NoError(t, err)
	w.live.SetPod(b, start)
	got := reaper.Decide(w.live.View(), reaper.Memory{}, start).Reopen
	require.Len(t, got, 1, "the first pod needs the closing node; the second fits on the open one")
	require.Equal(t, "p-000", got[0].Claim.Name)
}
