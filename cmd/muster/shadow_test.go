package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// shadowFlagsOf are the default flags and these arguments.
func shadowFlagsOf(t *testing.T, args ...string) serveFlags {
	t.Helper()
	var f serveFlags
	cmd := &cobra.Command{}
	f.register(cmd)
	require.NoError(t, cmd.ParseFlags(append([]string{"--shadow"}, args...)))
	require.NoError(t, f.validate())
	return f
}

// untouchable is a provider that nobody may call.
func untouchable(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a shadow called its provider: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(s.Close)
	return s
}

// kinds are those of which the API server has an empty list.
var kinds = map[string]string{
	"namespaces": "NamespaceList", "persistentvolumeclaims": "PersistentVolumeClaimList", "persistentvolumes": "PersistentVolumeList",
	"storageclasses": "StorageClassList", "csidrivers": "CSIDriverList", "csinodes": "CSINodeList",
	"csistoragecapacities": "CSIStorageCapacityList", "volumeattachments": "VolumeAttachmentList",
	"poddisruptionbudgets": "PodDisruptionBudgetList", "daemonsets": "DaemonSetList", "deviceclasses": "DeviceClassList",
}

// apiServer is one that knows a few objects and notes whatever is no read.
type apiServer struct {
	*httptest.Server
	mu     sync.Mutex
	lists  map[string]any // by path
	writes []string
	paths  map[string]bool
}

func newAPIServer(t *testing.T, lists map[string]any) *apiServer {
	t.Helper()
	a := &apiServer{lists: lists, paths: map[string]bool{}}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.paths[r.URL.Path] = true
	if r.Method != http.MethodGet {
		a.writes = append(a.writes, r.Method+" "+r.URL.Path)
	}
	list := a.lists[r.URL.Path]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		if r.URL.Query().Get("sendInitialEvents") != "" {
			w.WriteHeader(http.StatusUnprocessableEntity) // an older server: list first
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	if list == nil {
		group, resource := path.Split(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/"))
		list = map[string]any{"apiVersion": path.Clean(group), "kind": kinds[resource], "metadata": metav1.ListMeta{ResourceVersion: "1"}, "items": []any{}}
	}
	_ = json.NewEncoder(w).Encode(list)
}

// shadowedCluster has a pod that fits nowhere, and an idle node of the pool.
func shadowedCluster() map[string]any {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "large", UID: "large", ResourceVersion: "2"},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", "6")},
		}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
	node := corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "idle", UID: "idle", ResourceVersion: "2", Labels: map[string]string{"tier": "batch"}},
		Status:     corev1.NodeStatus{Allocatable: quantities("cpu", "3500m", "memory", "7Gi", "pods", "110")},
	}
	meta := metav1.ListMeta{ResourceVersion: "2"}
	kind := func(plural, kind string) metav1.APIResourceList {
		return metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: plural, Kind: kind, Verbs: metav1.Verbs{"get", "list", "watch"}}}}
	}
	return map[string]any{
		"/api/v1": kind("nodes", "Node"), "/apis/apps/v1": kind("daemonsets", "DaemonSet"),
		"/apis/resource.k8s.io/v1": kind("deviceclasses", "DeviceClass"),
		"/api/v1/pods":             corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: meta, Items: []corev1.Pod{pod}},
		"/api/v1/nodes":            corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: meta, Items: []corev1.Node{node}},
	}
}

const shadowPools = `apiVersion: muster.sh/v1alpha1
kind: Provider
metadata: {name: lab}
spec: {type: sim, endpoint: "%s"}
---
apiVersion: muster.sh/v1alpha1
kind: NodePool
metadata: {name: general}
spec:
  provider: lab
  template:
    shapes:
    - {name: small, resources: {cpu: "4", memory: 8Gi}, price: "0.20"}
    - {name: large, resources: {cpu: "8", memory: 16Gi}, price: "0.40"}
  limits: {maxNodes: 3}
  scaleDown: {idleAfter: 1s}
`

// The whole program against an API server that writes down what is asked of it, and a provider that nobody may call.
func TestAShadowReadsAndReportsAndDoesNothing(t *testing.T) {
	pools := filepath.Join(t.TempDir(), "pools.yaml")
	require.NoError(t, os.WriteFile(pools, fmt.Appendf(nil, shadowPools, untouchable(t).URL), 0o600))
	api := newAPIServer(t, shadowedCluster())
	f := shadowFlagsOf(t, "--shadow-pools="+pools, "--shadow-nodes=general=tier=batch", "--record="+t.TempDir())
	f.listen, f.metrics = freeAddress(t), freeAddress(t)
	p, err := newShadowProgram(f, &rest.Config{Host: api.URL}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.run(ctx) }()

	text := func() string {
		var out, errs bytes.Buffer
		_ = run(ctx, []string{"shadow", "report", "--address", "http://" + f.metrics}, &out, &errs)
		return out.String()
	}
	require.Eventually(t, func() bool {
		got := text()
		return strings.Contains(got, "general-001") && strings.Contains(got, "idle") && strings.Contains(got, "default/large")
	}, 30*time.Second, 50*time.Millisecond, "%s", p.feed.Err())
	require.Contains(t, text(), "would have bought    1 machines")
	require.Contains(t, text(), "would have released  1 nodes")
	require.NoError(t, testutil.CollectAndCompare(&shadowFigures{report: p.report}, strings.NewReader(`
# HELP muster_shadow_machines Machines that would be there, or on their way.
# TYPE muster_shadow_machines gauge
muster_shadow_machines{pool="general"} 1
# HELP muster_shadow_machines_cost Cost per hour of these machines.
# TYPE muster_shadow_machines_cost gauge
muster_shadow_machines_cost{pool="general"} 0.4
# HELP muster_shadow_idle_nodes Nodes that would have been given back.
# TYPE muster_shadow_idle_nodes gauge
muster_shadow_idle_nodes{pool="general"} 1
`), "muster_shadow_machines", "muster_shadow_machines_cost", "muster_shadow_idle_nodes"))
	end()
	require.NoError(t, <-done)
	api.mu.Lock()
	defer api.mu.Unlock()
	require.Empty(t, api.writes)
	require.True(t, api.paths["/api/v1/pods"])
	for path := range api.paths {
		require.NotContains(t, path, "muster.sh", "with pools from a file, its kinds need not be there")
		require.NotContains(t, path, "secrets")
		require.NotContains(t, path, "leases")
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func TestAShadowOfAPoolThatIsNotInItsFilesIsRefused(t *testing.T) {
	pools := filepath.Join(t.TempDir(), "pools.yaml")
	require.NoError(t, os.WriteFile(pools, fmt.Appendf(nil, shadowPools, "https://127.0.0.1:1"), 0o600))
	f := shadowFlagsOf(t, "--shadow-pools="+pools, "--shadow-nodes=generel=tier=batch")
	_, err := newShadowProgram(f, &rest.Config{Host: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, `--shadow-nodes: no NodePool "generel" in `+pools)
}

func TestShadowFlagsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, c := range [][]string{
		{"--shadow-nodes=general=a"}, {"--shadow-pools=x.yaml"}, {"--shadow", "--shadow-nodes=general"},
		{"--shadow", "--shadow-boot=-1s"}, {"--shadow-boot=3m"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, run(t.Context(), append([]string{"serve"}, c...), &out, &errs), c)
		require.Contains(t, errs.String(), "--shadow", c)
	}
}

func TestAskingForAReportSaysWhatIsWrong(t *testing.T) {
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	for address, want := range map[string]string{
		"127.0.0.1:10271":           "use a URL",
		answer(404, ""):             "is it a muster serve --shadow?",
		answer(503, "not ready"):    "not ready",
		answer(200, "<html>"):       "did not answer with a report",
		answer(200, `{"schema":1}`): "did not answer with a report",
		answer(200, `{}`):           `"muster.sh/shadow/v1" belongs`,
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, run(t.Context(), []string{"shadow", "report", "--address", address}, &out, &errs))
		require.Contains(t, errs.String(), want, address)
	}
}

// quantities are pairs of a resource and its amount.
func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}
