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
	claim.Spec.Pool, claim.Status.State, claim.Status.NodeName = "sound", v1alpha1.ClaimReady, "sound-000"
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

func TestMetricsTellWhatIsFrozen(t *testing.T) {
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	for name, reason := range map[string]string{"both": v1alpha1.ReasonAllFrozen, "unread": v1alpha1.ReasonFreezeUnknown,
		"kept": v1alpha1.ReasonReleasesFrozen, "small": v1alpha1.ReasonProvisioningFrozen, "free": v1alpha1.ReasonNotFrozen, "new": ""} {
		p := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name}}
		status := metav1.ConditionTrue
		if reason == v1alpha1.ReasonNotFrozen {
			status = metav1.ConditionFalse
		}
		if reason != "" {
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFrozen, Status: status, Reason: reason}}
		}
		live.SetPool(p)
	}
	r := prometheus.NewRegistry()
	newMetrics(r, live)
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP muster_frozen 1 while the releases or the provisioning of a pool are frozen, or count as frozen.
# TYPE muster_frozen gauge
muster_frozen{pool="both",what="provisioning"} 1
muster_frozen{pool="both",what="releases"} 1
muster_frozen{pool="free",what="provisioning"} 0
muster_frozen{pool="free",what="releases"} 0
muster_frozen{pool="kept",what="provisioning"} 0
muster_frozen{pool="kept",what="releases"} 1
muster_frozen{pool="new",what="provisioning"} 0
muster_frozen{pool="new",what="releases"} 0
muster_frozen{pool="small",what="provisioning"} 1
muster_frozen{pool="small",what="releases"} 0
muster_frozen{pool="unread",what="provisioning"} 1
muster_frozen{pool="unread",what="releases"} 1
`), "muster_frozen"))
}

func TestMetricsTellWhatPoolsHave(t *testing.T) {
	now := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	live.SetPool(&v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "empty"}})
	live.SetPool(&v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "vms"}})
	for name, state := range map[string]v1alpha1.ClaimState{"vms-000": v1alpha1.ClaimReady, "vms-001": v1alpha1.ClaimLaunching,
		"vms-002": v1alpha1.ClaimFailed, "vms-003": v1alpha1.ClaimReleasing} {
		claim := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		claim.Spec.Pool, claim.Spec.Provider, claim.Status.State = "vms", "home", state
		claim.Spec.Resources = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
		if state == v1alpha1.ClaimReady || state == v1alpha1.ClaimReleasing {
			claim.Status.LaunchedAt = &metav1.MicroTime{Time: now}
		}
		live.SetClaim(claim)
	}
	live.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "vms-000", Labels: map[string]string{
		v1alpha1.PoolLabel: "vms", v1alpha1.ClaimLabel: "vms-000"}}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3900m"), corev1.ResourceMemory: resource.MustParse("7Gi"), corev1.ResourcePods: resource.MustParse("9")}}}, now)
	live.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}}}, now)
	live.SetPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "runs", UID: "runs"}, Spec: corev1.PodSpec{NodeName: "vms-000",
		Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}}}}}}, now)
	want := map[string]roomFigures{"empty": {}, "vms": {3, 1, 8, 3.9, 1.5, 16 << 30, 7 << 30, 1 << 30}}
	got := map[string]roomFigures{}
	for pool, figures := range roomOf(live.View()) {
		got[pool] = *figures
	}
	require.Equal(t, want, got)
	r := prometheus.NewRegistry()
	newMetrics(r, live)
	require.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(`
# HELP muster_cpu_allocated_cores Cores that pods request on a pool's Nodes.
# TYPE muster_cpu_allocated_cores gauge
muster_cpu_allocated_cores{pool="empty"} 0
muster_cpu_allocated_cores{pool="vms"} 1.5
# HELP muster_memory_provisioned_bytes Memory of a pool's machines whose making the provider has confirmed.
# TYPE muster_memory_provisioned_bytes gauge
muster_memory_provisioned_bytes{pool="empty"} 0
muster_memory_provisioned_bytes{pool="vms"} 1.7179869184e+10
`), "muster_cpu_allocated_cores", "muster_memory_provisioned_bytes"))
}

func TestProxmoxRequestsAreNamedForWhatTheyDo(t *testing.T) {
	for request, want := range map[string]string{
		"GET /api2/json/version": "version", "GET /api2/json/cluster/resources": "resources", "GET /api2/json/access/permissions": "permissions",
		"POST /api2/json/nodes/pve1/qemu/9000/clone":                         "clone",
		"PUT /api2/json/nodes/pve1/qemu/1000/config":                         "configure",
		"GET /api2/json/nodes/pve1/qemu/1000/config":                         "read",
		"GET /api2/json/nodes/pve1/qemu/1000/status/current":                 "read",
		"POST /api2/json/nodes/pve1/qemu/1000/status/start":                  "start",
		"POST /api2/json/nodes/pve1/qemu/1000/status/stop":                   "stop",
		"PUT /api2/json/nodes/pve1/qemu/1000/resize":                         "resize",
		"DELETE /api2/json/nodes/pve1/qemu/1000":                             "destroy",
		"GET /api2/json/nodes/pve1/tasks/UPID:pve1:0:0:0:qmclone::x:/status": "task",
		"POST /api2/json/nodes/pve1/qemu/1000/agent/exec":                    "other",
	} {
		method, path, _ := strings.Cut(request, " ")
		require.Equal(t, want, proxmoxOperation(method, path), request)
	}
}
