package main

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

func TestMetricsTellOfOpenCircuitsAndReservedRoom(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	pool := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "braked"}}
	pool.Status.Circuits = []v1alpha1.Circuit{{Pods: "a", Vain: []types.UID{"1", "2"}}, {Pods: "b", Vain: []types.UID{"1"}}}
	live.SetPool(pool)
	live.SetPool(&v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "sound"}})
	claim := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "sound-000", UID: "c"}}
	claim.Spec.Pool, claim.Status.State = "sound", v1alpha1.ClaimReady
	claim.Spec.Reserved = []v1alpha1.PodReference{{Namespace: "default", Name: "awaited", UID: "awaited"}}
	live.SetClaim(claim)
	live.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "sound-000"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("9")},
	}}, now)
	live.SetPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "awaited", UID: "awaited"}, Spec: corev1.PodSpec{SchedulerName: "muster"},
	}, now)
	r := prometheus.NewRegistry()
	newMetrics(r, live)
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP muster_open_circuits Kinds of pods that a pool buys nothing but probes for, because its machines came up in vain.
# TYPE muster_open_circuits gauge
muster_open_circuits{pool="braked"} 1
muster_open_circuits{pool="sound"} 0
# HELP muster_reserved_pods Pods that room is kept for on nodes that exist.
# TYPE muster_reserved_pods gauge
muster_reserved_pods 1
`), "muster_open_circuits", "muster_reserved_pods"))
}
