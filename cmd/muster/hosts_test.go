package main

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

func TestAQuarantineIsAnEventAndAMetric(t *testing.T) {
	var told []string
	m := &hostMaker{metrics: newHostMetrics(prometheus.NewRegistry()),
		record: func(about control.Subject, warning bool, reason, _ string) {
			require.True(t, warning)
			told = append(told, about.Kind+" "+about.Name+" "+reason)
		}}
	m.Record(hosttest.Host(1, v1alpha1.Power{}), host.Event{Type: corev1.EventTypeWarning, Reason: "Quarantined"})
	require.Equal(t, []string{"Host host-01 Quarantined"}, told)
	require.InDelta(t, 1, testutil.ToFloat64(m.metrics.events.WithLabelValues(hosttest.ProviderName, "Quarantined")), 0)
}

// Rules and the Pod that switches off are those of the Provider as it is now; what cannot hold is refused.
func TestAProviderOfHostsTakesItsRulesFromItsSpec(t *testing.T) {
	r := &registry{}
	m := newHostMaker(t.Context(), nil, nil, r)
	p := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "metal"}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderWoL}}
	first, err := m.make(p)
	require.NoError(t, err)
	p.Spec.Hosts = &v1alpha1.HostRules{PowerOff: v1alpha1.PowerOffPod{Image: "registry.example/off:2"}}
	second, err := m.make(p)
	require.NoError(t, err)
	require.Same(t, first, second, "its hosts are kept by one")
	require.Equal(t, "registry.example/off:2", m.made["metal"].pod.Image)
	p.Spec.Hosts.OnRetry = &metav1.Duration{Duration: 1}
	_, err = m.make(p)
	require.ErrorContains(t, err, "spec.hosts.onRetry")
}

// A host learns from its claim which Node registered, and when nothing waits for its machine any more.
func TestAHostHearsOfItsClaim(t *testing.T) {
	live := capacity.NewLive(capacity.Schedulers{})
	c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "std-000", UID: "uid", ResourceVersion: "1"}}
	c.Status.State, c.Status.Attempts, c.Status.MachineID = v1alpha1.ClaimReleasing, 2, "metal-07"
	c.Status.NodeName, c.Status.NodeUID = "metal-07", "node-7"
	live.SetClaim(c)
	s := claimSights{live}
	require.Nil(t, s.ClaimOf("std-000", "another"))
	require.Equal(t, &host.ClaimSight{State: v1alpha1.ClaimReleasing, NodeName: "metal-07", NodeUID: "node-7", Attempt: 2}, s.ClaimOf("std-000", "uid"))
	gone := c.DeepCopy()
	gone.ResourceVersion = "2"
	gone.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionLaunched, Status: metav1.ConditionFalse, Reason: lifecycle.ReasonGone},
		{Type: v1alpha1.ConditionReleaseBlocked, Status: metav1.ConditionFalse, Reason: "Confirmed"},
	}
	live.SetClaim(gone)
	got := s.ClaimOf("std-000", "uid")
	require.True(t, got.Gone)
	require.True(t, got.Confirmed)
}
