package replay

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/manifest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const goldens = "../testdata/replay"

// TestGoldenReplays runs small traces under the eyes of a witness, and compares what comes out with what came out.
func TestGoldenReplays(t *testing.T) {
	traces, err := filepath.Glob(filepath.Join(goldens, "*.csv"))
	require.NoError(t, err)
	for _, trace := range traces {
		name := strings.TrimSuffix(filepath.Base(trace), ".csv")
		if name == "nodes" {
			continue
		}
		for _, variant := range []string{"", "-on-nodes"} {
			t.Run(name+variant, func(t *testing.T) {
				w := goldenWorld(t, trace, variant != "")
				newWitness(w).run(t)
				compare(t, filepath.Join(goldens, name+variant+".json"), w.Summary())
			})
		}
	}
}

func goldenWorld(t *testing.T, trace string, onNodes bool) *World {
	t.Helper()
	pools, err := manifest.ReadPools(filepath.Join(goldens, "pools.yaml"))
	require.NoError(t, err)
	data, err := os.ReadFile(trace)
	require.NoError(t, err)
	var o TraceOptions
	o.Tolerate(pools.Pools)
	load, err := NewTrace(trace, bytes.NewReader(data), o)
	require.NoError(t, err)
	options := Options{Pools: pools.Pools, Providers: pools.Providers, Load: load, Tail: 30 * time.Minute}
	if onNodes {
		file, err := os.Open(filepath.Join(goldens, "nodes.csv"))
		require.NoError(t, err)
		defer file.Close()
		options.Nodes, err = ReadNodes("nodes.csv", file, GPUWhole)
		require.NoError(t, err)
	}
	w, err := New(options)
	require.NoError(t, err)
	return w
}

func compare(t *testing.T, golden string, v any) {
	t.Helper()
	got, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	compareText(t, golden, append(got, '\n'))
}

func compareText(t *testing.T, golden string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(golden, got, 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got), "go test ./replay -run Golden -update rewrites it; explain every line that changes")
}
