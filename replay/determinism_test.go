package replay

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// record runs a busy world and writes down everything that happens in it.
func record(t *testing.T, seed int64, exact bool) (story []byte, s Summary) {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	w := newWorld(t, Options{
		Seed: seed, Exact: exact, Tail: 2 * time.Hour,
		Note: func(n Note) { require.NoError(t, enc.Encode(n)) },
		Pools: []*v1alpha1.NodePool{
			poolOf("general", 6, shape("small", "4", "8Gi"), shape("large", "16", "32Gi")), poolOf("other", 3, shape("mid", "8", "8Gi")),
		},
		Providers: []*v1alpha1.Provider{simProvider(v1alpha1.Sim{Failures: v1alpha1.SimFailures{Create: 10, Lost: 10, NeverJoin: 10}})},
	}, append(append(burst(60, 0, 30*time.Millisecond, 7*time.Minute, "1500m", "1Gi"),
		burst(5, time.Minute, time.Second, time.Minute, "64", "1Gi")...),
		burst(60, 4*time.Minute, 100*time.Millisecond, 5*time.Minute, "700m", "2Gi")...)...)
	require.NoError(t, w.Run(t.Context()))
	return out.Bytes(), w.Summary()
}

func TestSameInputSameBytes(t *testing.T) {
	first, one := record(t, 1, false)
	for range 2 {
		again, two := record(t, 1, false)
		require.Equal(t, one, two)
		require.Equal(t, string(first), string(again))
	}
	other, _ := record(t, 2, false)
	require.NotEqual(t, string(first), string(other), "another seed, other boot times")
}

// Retries that cannot but fail are left out unless they are asked for. What is bought is the same; which pod takes a
// place that another left may differ by the milliseconds that the scheduler is busy with them.
func TestSparedRetriesChangeLittle(t *testing.T) {
	_, spared := record(t, 1, false)
	_, exact := record(t, 1, true)
	require.Greater(t, exact.Scheduler.FilterCalls, spared.Scheduler.FilterCalls)
	require.Equal(t, exact.Pods, spared.Pods)
	require.Equal(t, exact.Machines.Bought, spared.Machines.Bought)
	require.Len(t, spared.Purchases, len(exact.Purchases))
	for i, p := range exact.Purchases {
		require.Equal(t, p.Machines, spared.Purchases[i].Machines, p.Shape)
		require.InEpsilon(t, p.Hours, spared.Purchases[i].Hours, 0.1, p.Shape)
	}
	require.InDelta(t, exact.Wait.P50, spared.Wait.P50, 1)
	require.InEpsilon(t, exact.Wait.P99, spared.Wait.P99, 0.1)
}
