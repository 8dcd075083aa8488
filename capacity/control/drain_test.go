package control_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
)

// drained is the claim of newRest, whose node has one pod that a disruption budget keeps, and the loop that drains it.
type drained struct {
	*rest
	claims *control.Claims
	now    time.Time
	node   *corev1.Node
	pod    *corev1.Pod
	evicts int
}

func newDrained(t *testing.T, now time.Time) *drained {
	d := &drained{rest: newRest(t, now), now: now}
	d.claims = &control.Claims{
		Live: d.live, Kube: d, Nodes: d, Backends: nobody{}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return d.now },
	}
	d.claims.Gate = &control.Gate{Live: d.live, Kube: d, Backends: nobody{}, Log: d.claims.Log, Now: d.claims.Now}
	c := d.rest.claims["p-000"].DeepCopy()
	c.Finalizers = []string{v1alpha1.ClaimFinalizer}
	c.Status.MachineID, c.Status.ProviderID = "m", "sim://m"
	d.live.SetClaim(d.store(c))
	d.node = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "p-000", UID: "node", Annotations: map[string]string{v1alpha1.RegisteredAnnotation: "claim"},
			Labels: map[string]string{v1alpha1.PoolLabel: "p", v1alpha1.ClaimLabel: "p-000"}},
		Spec: corev1.NodeSpec{ProviderID: "sim://m"},
		Status: corev1.NodeStatus{Allocatable: c.Spec.Resources, Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
		}},
	}
	d.live.SetNode(d.node, now)
	p := pod("kept", "1")
	p.Spec.NodeName = "p-000"
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
	d.live.SetPod(p, now)
	d.pod = p
	return d
}

func (d *drained) Candidates(string, string, string) []*corev1.Node { return []*corev1.Node{d.node} }

func (d *drained) UpdateNode(_ context.Context, _, to *corev1.Node) error {
	d.node = to
	d.live.SetNode(to, d.now)
	return nil
}

func (d *drained) Nodes(context.Context) ([]*corev1.Node, error) { return []*corev1.Node{d.node}, nil }

func (d *drained) PodsOn(context.Context, string) ([]corev1.Pod, error) {
	return []corev1.Pod{*d.pod}, nil
}

func (d *drained) Evict(_ context.Context, ref v1alpha1.PodReference, p gate.Proof) error {
	if err := p.CoversPod(ref.UID, d.now, gate.Evict); err != nil {
		return err
	}
	d.evicts++
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "The disruption budget web needs 1 healthy pods and has 1 currently"}}
	return err
}

func (d *drained) Event(about control.Subject, _ bool, reason, message string) {
	d.events = append(d.events, about.Kind+" "+about.Name+" "+reason+": "+message)
}

// reconcile steps the claim until it sleeps for longer than that.
func (d *drained) reconcile(t *testing.T, most time.Duration) {
	t.Helper()
	for end := d.now.Add(most); d.now.Before(end); {
		next, err := d.claims.Reconcile(t.Context(), "p-000")
		require.NoError(t, err)
		if next == 0 {
			return
		}
		d.now = d.now.Add(next)
	}
}

func TestADrainThatIsRefusedIsUndoneWithWhatTheAPIServerSaid(t *testing.T) {
	d := newDrained(t, time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC))
	d.claims.Gate = &control.Gate{Live: d.live, Kube: d, Backends: nobody{}, Log: d.claims.Log, Now: d.claims.Now}
	c := d.rest.claims["p-000"].DeepCopy()
	c.Spec.Release = &v1alpha1.Release{Reason: "Underused", Since: metav1.NewMicroTime(d.now), Drain: &v1alpha1.Drain{
		Timeout: metav1.Duration{Duration: time.Minute},
	}}
	d.live.SetClaim(d.store(c))
	d.reconcile(t, 10*time.Second)
	require.True(t, d.node.Spec.Unschedulable)
	require.Equal(t, v1alpha1.ClaimDraining, d.rest.claims["p-000"].Status.State)

	d.reconcile(t, 2*time.Minute)
	end := d.rest.claims["p-000"]
	require.Equal(t, v1alpha1.ClaimReady, end.Status.State)
	require.Nil(t, end.Spec.Release)
	require.False(t, d.node.Spec.Unschedulable)
	require.Empty(t, d.node.Spec.Taints)
	require.Greater(t, d.evicts, 10, "every five seconds of a minute")
	why := meta.FindStatusCondition(end.Status.Conditions, v1alpha1.ConditionDraining)
	require.Equal(t, "DrainBlocked", why.Reason)
	const says = "default/kept: Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently"
	require.Contains(t, why.Message, says)
	require.True(t, slices.ContainsFunc(d.events, func(e string) bool {
		return e == "Pod kept DrainBlocked: p-000: "+why.Message
	}), "%v", d.events)
	require.GreaterOrEqual(t, end.Status.DrainAgain.Sub(d.now), 14*time.Minute)
}
