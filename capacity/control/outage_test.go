package control_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/experience"
)

// A pool says which nodes are silent while they are an outage, and that it is over when they are heard of.
func TestM20AnOutageIsToldWithNames(t *testing.T) {
	start := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	live := capacity.NewLive(capacity.Schedulers{})
	pool := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePoolSpec{Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 20}}}
	live.SetPool(pool)
	node := func(i int, silent bool) {
		name := capacity.SlotName("p", i)
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: resources("4", "8Gi")}}
		if silent {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
		}
		live.SetNode(n, start)
		live.SetClaim(&v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim"},
			Status: v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: name}})
	}
	for i := range 12 {
		node(i, i < 7)
	}
	live.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}}}, start)
	told := func(now time.Time) *metav1.Condition {
		pool = control.PoolStatus(pool, live.View(), experience.Of(live.View(), now), now)
		return meta.FindStatusCondition(pool.Status.Conditions, v1alpha1.ConditionOutage)
	}
	is := told(start)
	require.Equal(t, metav1.ConditionTrue, is.Status)
	require.Equal(t, "7 of 12 nodes are silent (p-000, p-001, p-002, p-003, p-004 and 2 more): none is restarted or replaced, and none is "+
		"released before 2026-11-21T15:00:00Z", is.Message)
	is = told(start.Add(capacity.OutageLasts))
	require.Equal(t, metav1.ConditionTrue, is.Status)
	require.Contains(t, is.Message, "idle nodes are released again")
	for i := range 6 {
		node(i, false)
	}
	require.Equal(t, metav1.ConditionFalse, told(start.Add(7*time.Hour)).Status)

	pool.Status.Conditions = nil
	require.Nil(t, told(start.Add(8*time.Hour)), "a pool that has had no outage says nothing of one")
}
