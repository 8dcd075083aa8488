package housekeeping_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/housekeeping"
)

// Two dead nodes of others and one of ours, out of five, were an outage: ours was never repaired.
func TestM20DeadForeignNodesStopNoRepair(t *testing.T) {
	h := newHospital()
	h.many(3, 1)
	for _, name := range []string{"theirs-0", "theirs-1"} {
		h.live.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: start.Add(-400 * time.Hour)}},
		}}}, start.Add(-400*time.Hour))
	}
	r := housekeeping.Repair(h.live.View(), start)
	require.Equal(t, housekeeping.Replaced, r.Reasons["p-000"])
	require.Len(t, r.Replace, 1)
}

// A node is repaired when this process has seen it silent for as long as its pool waits, whatever time the taint names: that is the
// time of another computer.
func TestM19RepairWaitsByItsOwnClock(t *testing.T) {
	for name, noted := range map[string]time.Duration{
		"ten years ago": 10 * 365 * 24 * time.Hour, "an hour ago": time.Hour, "in an hour": -time.Hour, "in ten years": -10 * 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHospital()
			h.node(1, 0)
			h.node(0, time.Minute, func(_ *v1alpha1.NodeClaim, n *corev1.Node) {
				n.Spec.Taints[1].TimeAdded = &metav1.Time{Time: start.Add(-noted)}
			})
			require.Equal(t, housekeeping.NotYet, housekeeping.Repair(h.live.View(), start.Add(9*time.Minute-1)).Reasons["p-000"])
			require.Equal(t, housekeeping.Replaced, housekeeping.Repair(h.live.View(), start.Add(9*time.Minute)).Reasons["p-000"])
		})
	}
}

// A silent node that is labelled meanwhile has been silent for as long as before; one that was heard of meanwhile begins anew.
func TestM19SilenceIsCountedFromItsBeginning(t *testing.T) {
	h := newHospital()
	h.node(1, 0)
	h.node(0, 10*time.Minute, func(_ *v1alpha1.NodeClaim, n *corev1.Node) { n.Labels["team"] = "a" })
	node := func(labels map[string]string, taints []corev1.Taint, at time.Time) {
		n := h.live.View().Nodes[0].Object.DeepCopy()
		n.Labels, n.Spec.Taints, n.Status.Allocatable = labels, taints, resources()
		h.live.SetNode(n, at)
	}
	taints := h.live.View().Nodes[0].Object.Spec.Taints
	node(map[string]string{"team": "b"}, taints, start.Add(-time.Minute))
	require.Equal(t, housekeeping.Replaced, housekeeping.Repair(h.live.View(), start).Reasons["p-000"])
	node(nil, nil, start)
	node(nil, taints, start.Add(time.Minute))
	require.Equal(t, housekeeping.NotYet, housekeeping.Repair(h.live.View(), start.Add(11*time.Minute-1)).Reasons["p-000"])
	require.Equal(t, housekeeping.Replaced, housekeeping.Repair(h.live.View(), start.Add(11*time.Minute)).Reasons["p-000"])
}

func resources() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
}
