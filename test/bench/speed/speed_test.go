package speed

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay"
)

var (
	pods = flag.Int("pods", 1_000_000, "pods of the large trace")
	days = flag.Int("days", 3, "days of the large trace")
)

// BenchmarkReplay runs a trace to its end. pod-events/s counts arrivals, bindings and ends; days/s are simulated.
func BenchmarkReplay(b *testing.B) {
	b.Run("day", func(b *testing.B) { measure(b, file(b, 4_000, 1, 600), general()) })
}

// BenchmarkResident replays the large trace and reports the most that was ever resident of this process, so it wants a
// process of its own.
func BenchmarkResident(b *testing.B) {
	before := resident(b)
	measure(b, file(b, *pods, *days, 20), general())
	b.ReportMetric(before, "MiB-before")
	b.ReportMetric(resident(b), "MiB-peak")
}

// file is a generated trace on the disk.
func file(b *testing.B, pods, days int, median float64) string {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "pods.csv"))
	require.NoError(b, err)
	require.NoError(b, generated(f, pods, days, median, 1))
	require.NoError(b, f.Close())
	return f.Name()
}

func measure(b *testing.B, name string, pools *manifest.Pools) {
	events, span := 0, 0.0
	for b.Loop() {
		f, err := os.Open(name)
		require.NoError(b, err)
		o := replay.TraceOptions{GPU: replay.GPUWhole}
		o.Tolerate(pools.Pools)
		trace, err := replay.NewTrace(name, f, o)
		require.NoError(b, err)
		w, err := replay.New(replay.Options{Load: trace, Pools: pools.Pools, Providers: pools.Providers})
		require.NoError(b, err)
		require.NoError(b, w.Run(b.Context()))
		require.NoError(b, f.Close())
		s := w.Summary()
		bound := s.Pods.Arrived - s.Pods.Unserved + s.Pods.Restarted
		events += s.Pods.Arrived + bound + s.Pods.Finished + s.Pods.Left
		span += s.End - s.Start
		b.ReportMetric(float64(s.Machines.PeakNodes), "peak-nodes")
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "pod-events/s")
	b.ReportMetric(span/86400/b.Elapsed().Seconds(), "days/s")
}

// general has one pool of two sizes.
func general() *manifest.Pools {
	shape := func(name string, cores, gib int64) v1alpha1.Shape {
		return v1alpha1.Shape{Name: name, Resources: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(gib<<30, resource.BinarySI),
		}}
	}
	return &manifest.Pools{
		Providers: []*v1alpha1.Provider{{ObjectMeta: metav1.ObjectMeta{Name: "sim"}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim}}},
		Pools: []*v1alpha1.NodePool{{
			ObjectMeta: metav1.ObjectMeta{Name: "general"},
			Spec: v1alpha1.NodePoolSpec{
				Provider: "sim", Limits: v1alpha1.Limits{MaxNodes: 900},
				Template: v1alpha1.NodeTemplate{Shapes: []v1alpha1.Shape{shape("eight", 8, 32), shape("sixteen", 16, 64)}},
			},
		}},
	}
}

// resident is the most memory of this process that was ever resident, in MiB.
func resident(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, rest, ok := strings.Cut(string(text), "VmHWM:")
	require.True(b, ok)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	require.NoError(b, err)
	return float64(kib) / 1024
}
