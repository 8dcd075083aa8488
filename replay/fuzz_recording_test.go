package replay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRecording: whatever objects a recording brings, what is made of them can be sent and comes in order, a lenient reader stops at no
// object, and an error names the file.
func FuzzRecording(f *testing.F) {
	const head = `{"schema":"muster.sh/recording/v1","recording":"r","file":1,"started":"2026-01-01T00:00:00Z","version":"v","place":["muster"]}` + "\n"
	pool := `{"t":"2026-01-01T00:00:00Z","object":{"kind":"NodePool","body":{"metadata":{"name":"p","uid":"p"},"spec":{"provider":"sim","limits":{"maxNodes":1}}}}}` + "\n"
	f.Add([]byte(head + pool + `{"t":"2026-01-01T00:00:01Z","object":{"kind":"Pod","body":{"metadata":{"name":"b","uid":"b"},"spec":{"schedulerName":"muster"}}}}` + "\n"))
	f.Add([]byte(head + pool + `{"t":"2025-01-01T00:00:01Z","object":{"kind":"NodeClaim","gone":true,"body":{"metadata":{"name":"c","uid":"c"}}}}` + "\n"))
	f.Add([]byte(head + pool + `{"t":"2026-01-01T00:00:01Z","object":{"kind":"Node","body":{"metadata":{"uid":7}}}}` + "\n{"))
	f.Add([]byte(head + pool + `{"t":"2026-01-01T00:00:01Z","object":{"kind":"Pod","body":null}}` + "\n"))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, lines []byte) {
		var text bytes.Buffer
		zip := gzip.NewWriter(&text)
		_, err := zip.Write(lines)
		require.NoError(t, err)
		require.NoError(t, zip.Close())
		file := filepath.Join(folder, "r-000001.muster.jsonl.gz")
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
		strict, err := ReadRecording(file)
		if err != nil {
			require.Contains(t, err.Error(), file)
		}
		lenient, lax := ReadRecordingLenient(file)
		if err == nil {
			require.NoError(t, lax)
			require.Len(t, lenient.arrivals, len(strict.arrivals))
		}
		if lax == nil {
			fuzzRecorded(t, lenient)
		}
	})
}

func fuzzRecorded(t *testing.T, r *Recorded) {
	t.Helper()
	for i, a := range r.arrivals {
		if i > 0 && a.At < r.arrivals[i-1].At || a.Runs < 0 || a.Leaves < 0 || a.Leaves > 0 && a.Leaves < a.At {
			t.Fatalf("arrival at %s, runs %s, leaves %s", a.At, a.Runs, a.Leaves)
		}
		_, err := json.Marshal(a.Pod)
		require.NoError(t, err)
	}
	for _, m := range r.Machines {
		if m.Released >= 0 && m.Released < m.Bought {
			t.Fatalf("bought at %s, released at %s", m.Bought, m.Released)
		}
	}
}

// FuzzNodes: a node that is read offers nothing negative, has a name of its own, and an error names the file.
func FuzzNodes(f *testing.F) {
	f.Add([]byte("name,cpu_milli,memory_mib,gpu_count,gpu_model\na,64000,262144,2,T4\nb,1,1,,\n"))
	f.Add([]byte("name,cpu_milli,memory_mib\na,-1,x\n"))
	f.Add([]byte("\x1f\x8b\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		nodes, err := ReadNodes("nodes.csv", bytes.NewReader(data), GPUWhole)
		if err != nil && !strings.HasPrefix(err.Error(), "nodes.csv") {
			t.Fatalf("no file in %q", err)
		}
		seen := map[string]bool{}
		for _, n := range nodes {
			if seen[n.Name] || n.Name == "" {
				t.Fatalf("two nodes are called %q, or one is not", n.Name)
			}
			seen[n.Name] = true
			for name, q := range n.Status.Allocatable {
				if q.Sign() < 0 {
					t.Fatalf("%s of %s", q.String(), name)
				}
			}
		}
	})
}
