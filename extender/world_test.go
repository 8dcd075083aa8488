package extender_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// smallWorld has an open node, a full one, one being released and one still starting.
func smallWorld() *capacity.Live {
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	live.SetNode(machine("open", "4", "8Gi"), noon)
	live.SetNode(machine("full", "4", "8Gi"), noon)
	live.SetNode(machine("leaving", "4", "8Gi", v1alpha1.ReleasingTaint), noon)
	live.SetNode(machine("coming", "4", "8Gi", v1alpha1.StartingTaint), noon)
	tenant := workload("tenant", "4", "1Gi")
	tenant.Spec.NodeName = "full"
	live.SetPod(tenant, noon)
	return live
}

var smallNames = []string{"open", "full", "leaving", "coming"}

func machine(name, cpu, memory string, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse("110"),
	}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

func workload(name, cpu, memory string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}}
	p.Spec.SchedulerName = "muster"
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		},
	}}}
	return p
}

func config(core extender.Core) extender.Config {
	return extender.Config{Core: core, Logger: quiet(), Now: func() time.Time { return noon }}
}

func post(h http.Handler, path string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

// named is a call as kube-scheduler sends it with nodeCacheCapable: true.
func named(pod *corev1.Pod, names ...string) extenderv1.ExtenderArgs {
	names = append([]string{}, names...) // the scheduler sends [], never null
	return extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names}
}

// whole is a call as kube-scheduler sends it with nodeCacheCapable: false.
func whole(pod *corev1.Pod, nodes ...*corev1.Node) extenderv1.ExtenderArgs {
	list := &corev1.NodeList{}
	for _, n := range nodes {
		list.Items = append(list.Items, *n)
	}
	return extenderv1.ExtenderArgs{Pod: pod, Nodes: list}
}

// filtered decodes an answer as kube-scheduler does.
func filtered(t *testing.T, w *httptest.ResponseRecorder) extenderv1.ExtenderFilterResult {
	t.Helper()
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	var result extenderv1.ExtenderFilterResult
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &result))
	require.Empty(t, result.Error)
	require.Empty(t, result.FailedNodes, "a node in FailedNodes invites preemption")
	return result
}
