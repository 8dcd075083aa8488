package release

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay"
)

var openb = flag.String("openb", "", "folder with pods.csv of a production cluster; without it, the generated load alone is measured")

var seeds = flag.Uint("seeds", 1, "how many generated loads")

// dense is where the dense part of that trace begins.
const dense = 10_014_946 * time.Second

// rules are what is compared: by name, what a pool says and who decides.
var rules = []struct {
	name   string
	edit   func(*v1alpha1.ScaleDown)
	decide func(*replay.Options)
}{
	{"empty-10m", func(s *v1alpha1.ScaleDown) { s.UtilizationThreshold = ptr.To[int32](0) }, nil},
	{"n-1", func(*v1alpha1.ScaleDown) {}, func(o *replay.Options) { o.Decide = new(OneLess).Decide }},
	{"muster", func(*v1alpha1.ScaleDown) {}, nil},
	{"muster-tight", tight, nil},
}

// tight lets nodes go early, and empties those that are half used.
func tight(s *v1alpha1.ScaleDown) {
	s.IdleAfter, s.UnderusedAfter = &metav1.Duration{Duration: 2 * time.Minute}, &metav1.Duration{Duration: 5 * time.Minute}
	s.UtilizationThreshold, s.Headroom = ptr.To[int32](50), ptr.To[int32](0)
}

// BenchmarkRelease replays a load under each rule. node-h and evictions are what the rules are judged by, p99-s shows that
// nobody waits longer for it.
func BenchmarkRelease(b *testing.B) {
	for _, l := range loads(b) {
		b.Run(l.name+"/bound", func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(bound(b, l), "node-h")
			}
		})
		for _, rule := range rules {
			b.Run(l.name+"/"+rule.name, func(b *testing.B) {
				for b.Loop() {
					s := run(b, l, rule.edit, rule.decide)
					b.ReportMetric(s.Machines.NodeHours, "node-h")
					b.ReportMetric(float64(s.Pods.Evicted), "evictions")
					b.ReportMetric(s.Wait.P99, "p99-s")
					b.ReportMetric(s.Wait.Mean, "mean-s")
					b.ReportMetric(s.Machines.Cost, "cost")
					b.ReportMetric(float64(s.Machines.Bought), "bought")
					b.ReportMetric(float64(s.Pods.Unserved), "unserved")
				}
			})
		}
	}
}

// demand is a load, and the pools it is for. Where machines of some shapes only are bought, a bound is to count in those.
type demand struct {
	name   string
	trace  []byte
	pools  func() []*v1alpha1.NodePool
	bought func() []*v1alpha1.NodePool
	from   time.Duration
}

func bound(t testing.TB, d demand) float64 {
	t.Helper()
	pools := d.bought()
	trace, err := load(d.name, bytes.NewReader(d.trace), pools, d.from)
	require.NoError(t, err)
	hours, err := Bound(trace, pools)
	require.NoError(t, err)
	return hours
}

func loads(b *testing.B) []demand {
	var all []demand
	for seed := range uint64(*seeds) {
		all = append(all, demand{
			name: fmt.Sprintf("day-night-%d", seed+1), trace: dayAndNight(seed + 1), pools: generalPools, bought: eightCores,
		})
	}
	if *openb != "" {
		data, err := os.ReadFile(filepath.Join(*openb, "pods.csv"))
		require.NoError(b, err)
		all = append(all, demand{name: "openb", trace: data, pools: clusterPools, bought: clusterPools, from: dense})
	}
	return all
}

func run(t testing.TB, d demand, edit func(*v1alpha1.ScaleDown), decide func(*replay.Options)) replay.Summary {
	t.Helper()
	pools := d.pools()
	for _, p := range pools {
		edit(&p.Spec.ScaleDown)
	}
	trace, err := load(d.name, bytes.NewReader(d.trace), pools, d.from)
	require.NoError(t, err)
	o := replay.Options{Pools: pools, Providers: []*v1alpha1.Provider{provider()}, Load: trace}
	if decide != nil {
		decide(&o)
	}
	w, err := replay.New(o)
	require.NoError(t, err)
	require.NoError(t, w.Run(t.Context()))
	return w.Summary()
}
