package control_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/reaper"
)

// rest is a pool with one node that has been empty for its idle time.
type rest struct {
	*notebook
	live    *capacity.Live
	reaper  *control.Reaper
	refused bool // the API server has a newer claim
}

func newRest(t *testing.T, now time.Time) *rest {
	t.Helper()
	r := &rest{notebook: newNotebook(), live: capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})}
	r.reaper = &control.Reaper{Live: r.live, Kube: r, Log: slog.New(slog.DiscardHandler), Decide: reaper.Decide}
	r.live.SetPool(&v1alpha1.NodePool{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.NodePoolSpec{
			Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 1},
			ScaleDown: v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{}},
		},
	})
	r.live.SetProvider(&v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "sim"}})
	offers := resources("4", "8Gi")
	offers[corev1.ResourcePods] = resource.MustParse("110")
	claim := r.store(&v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "p-000", UID: "claim"},
		Spec:       v1alpha1.NodeClaimSpec{Pool: "p", Provider: "sim", Shape: "s", Resources: offers},
		Status:     v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: "p-000"},
	})
	r.live.SetNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "p-000", Labels: map[string]string{v1alpha1.PoolLabel: "p"}},
		Status:     corev1.NodeStatus{Allocatable: offers},
	}, now)
	r.live.SetClaim(claim)
	return r
}

func (r *rest) UpdateClaim(ctx context.Context, c *v1alpha1.NodeClaim) (*v1alpha1.NodeClaim, error) {
	if r.refused {
		return nil, apierrors.NewConflict(schema.GroupResource{}, c.Name, nil)
	}
	return r.notebook.UpdateClaim(ctx, c)
}

// places says whether the filter sends a pod to the node.
func (r *rest) places(t *testing.T, number uint64, now time.Time) bool {
	t.Helper()
	p := pod("late", "2")
	placed, err := r.live.Place(t.Context(), capacity.Call{Number: number, Pod: r.live.Compile(p), Nodes: []string{"p-000"}, Now: now})
	require.NoError(t, err)
	return placed.Node != ""
}

func (r *rest) wait(now time.Time) {
	p := pod("late", "2")
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	r.live.SetPod(p, now)
}

func TestAReleaseClosesTheNodeAndDemandOpensItAgain(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	r := newRest(t, now)
	r.reaper.Tick(t.Context(), now)
	require.NotNil(t, r.claims["p-000"].Spec.Release, "the node was idle")
	require.False(t, r.places(t, 1, now), "it is closed")

	r.wait(now)
	r.refused = true
	r.reaper.Tick(t.Context(), now)
	require.NotNil(t, r.claims["p-000"].Spec.Release, "somebody else wrote the claim: its machine may be on its way out")

	r.refused = false
	r.reaper.Tick(t.Context(), now)
	require.Nil(t, r.claims["p-000"].Spec.Release)
	require.True(t, r.places(t, 2, now.Add(time.Minute)))
	r.reaper.Tick(t.Context(), now)
	require.Nil(t, r.claims["p-000"].Spec.Release, "the pod is on its way there")
}

func TestAReleaseThatIsNotRecordedLeavesTheNodeOpen(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	r := newRest(t, now)
	r.refused = true
	r.reaper.Tick(t.Context(), now)
	require.Nil(t, r.claims["p-000"].Spec.Release)
	require.True(t, r.places(t, 1, now))
}
