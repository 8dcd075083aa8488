package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// BenchmarkReplay runs 2,000 pods through a day of scale-up and scale-down.
func BenchmarkReplay(b *testing.B) {
	for b.Loop() {
		load := &arrivals{burst(2000, 0, 40*time.Second, 20*time.Minute, "1500m", "2Gi")}
		w, err := New(Options{
			Load: load, Pools: []*v1alpha1.NodePool{poolOf("general", 50, shape("small", "4", "8Gi"), shape("large", "16", "32Gi"))},
		})
		require.NoError(b, err)
		require.NoError(b, w.Run(b.Context()))
		require.Empty(b, w.Ends())
	}
	b.ReportMetric(2000*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}
