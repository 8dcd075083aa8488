package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
	"github.com/muster-sh/muster/replay/recording"
)

// BenchmarkRecordedFilter is what recording costs the place filter: every call is made twice, once on a handler that is
// recorded (to the disk, beside it) and once on one that is not, in turns, over the same 1,000 nodes. overhead-% compares
// the medians of the two; a busy machine disturbs both alike.
func BenchmarkRecordedFilter(b *testing.B) {
	for _, size := range []struct{ name, cpu string }{{"fits", "1"}, {"fits-nowhere", "64"}} {
		b.Run(size.name, func(b *testing.B) {
			p := &program{flags: serveFlags{place: []string{"muster"}}, log: slog.New(slog.DiscardHandler)}
			p.recorder = recording.NewWriter(recording.Options{
				Folder: b.TempDir(), FileSize: recording.DefaultFileSize, Size: recording.DefaultSize, FileAge: recording.DefaultFileAge,
				Age: recording.DefaultAge, Header: recording.Header{Recording: "bench"}, Log: p.log, Now: time.Now,
			})
			require.NoError(b, p.recorder.Open())
			go func() { _ = p.recorder.Run(b.Context()) }() // until the benchmark ends
			live, names := thousandNodes()
			plain := extender.New(extender.Config{Core: live, Now: time.Now, Logger: p.log})
			recorded := extender.New(extender.Config{Core: live, Now: time.Now, Logger: p.log, Observe: p.observeCall()})
			var without, with []time.Duration
			for n := 0; b.Loop(); n++ {
				body := filterCall(b, n, size.cpu, names)
				first, second := plain, recorded
				if n%2 > 0 {
					first, second = second, first
				}
				a, z := clocked(b, first, body), clocked(b, second, body)
				if n%2 > 0 {
					a, z = z, a
				}
				without, with = append(without, a), append(with, z)
				live.ForgetPod(types.UID(fmt.Sprintf("pod-%d", n)))
			}
			before, after := median(without), median(with)
			b.ReportMetric(float64(before.Nanoseconds())/1000, "µs-without")
			b.ReportMetric(float64(after.Nanoseconds())/1000, "µs-with")
			b.ReportMetric(100*(float64(after)/float64(before)-1), "overhead-%")
			require.Zero(b, p.recorder.Totals().Lost)
		})
	}
}

func thousandNodes() (*capacity.Live, []string) {
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("worker-%04d.example.internal", i)
		live.SetNode(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: names[i], Labels: map[string]string{corev1.LabelHostname: names[i]}},
			Status:     corev1.NodeStatus{Allocatable: quantities("cpu", "16", "memory", "64Gi", "pods", "110")},
		}, time.Now())
	}
	return live, names
}

func filterCall(b *testing.B, n int, cpu string, names []string) []byte {
	b.Helper()
	body, err := json.Marshal(extenderv1.ExtenderArgs{NodeNames: &names, Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("pod-%d", n), UID: types.UID(fmt.Sprintf("pod-%d", n))},
		Spec: corev1.PodSpec{SchedulerName: "muster", Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", cpu, "memory", "1Gi")},
		}}},
	}})
	require.NoError(b, err)
	return body
}

func clocked(b *testing.B, h http.Handler, body []byte) time.Duration {
	b.Helper()
	request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/place/filter", bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	start := time.Now()
	h.ServeHTTP(w, request)
	took := time.Since(start)
	require.Equal(b, http.StatusOK, w.Code)
	return took
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
