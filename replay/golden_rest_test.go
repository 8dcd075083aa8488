package replay

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/manifest"
)

// TestGoldenRest tells what becomes of nodes that are needed less, or too old: each story is a pools file, a trace, and every
// step in the order it was taken. Of pods it says where they went, and from where they were evicted.
func TestGoldenRest(t *testing.T) {
	stories, err := filepath.Glob(filepath.Join(goldens, "rest", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, stories)
	for _, pools := range stories {
		name := strings.TrimSuffix(pools, ".yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			var told bytes.Buffer
			w := restWorld(t, name, func(n Note) { tell(&told, n) })
			newWitness(w).run(t)
			fmt.Fprintf(&told, "in all: %d machines, %d evictions\n", w.Summary().Machines.Bought, w.Summary().Pods.Evicted)
			compareText(t, name+".txt", told.Bytes())
		})
	}
}

func restWorld(t *testing.T, name string, note func(Note)) *World {
	t.Helper()
	pools, err := manifest.ReadPools(name + ".yaml")
	require.NoError(t, err)
	data, err := os.ReadFile(name + ".csv")
	require.NoError(t, err)
	load, err := NewTrace(name+".csv", bytes.NewReader(data), TraceOptions{})
	require.NoError(t, err)
	w, err := New(Options{Pools: pools.Pools, Providers: pools.Providers, Load: load, Tail: 30 * time.Minute, Note: note})
	require.NoError(t, err)
	return w
}

func tell(to *bytes.Buffer, n Note) {
	if n.Kind == "Pod" && n.Reason != NoteBound && n.Reason != NoteDeleted {
		return
	}
	fmt.Fprintf(to, "%-9s %s %s %s", n.At.Sub(Zero).Truncate(time.Second), n.Kind, n.Name, n.Reason)
	if n.Message != "" {
		fmt.Fprintf(to, ": %s", n.Message)
	}
	to.WriteByte('\n')
}
