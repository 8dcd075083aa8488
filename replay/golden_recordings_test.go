package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goldenRecording is what a recording saw, and what its replay came to.
type goldenRecording struct {
	// Recorded and Replayed are the machines by the order of their purchase.
	Recorded []string `json:"recorded"`
	Replayed []string `json:"replayed"`
	Summary  Summary  `json:"summary"`
}

// TestGoldenRecordings replays what Muster recorded beside a real kube-scheduler (`make -C test/e2e recordings`, names
// hashed), under the eyes of a witness: the same machines are bought and released, in the same order, and everything else is
// as it was when the golden file was written.
func TestGoldenRecordings(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(goldens, "recordings", "*", ""))
	require.NoError(t, err)
	stories := 0
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			continue
		}
		stories++
		t.Run(filepath.Base(folder), func(t *testing.T) {
			r, err := ReadRecording(folder)
			require.NoError(t, err)
			require.Empty(t, r.Damages)
			var start time.Duration
			w, err := New(Options{
				Pools: r.Pools, Providers: r.Providers, Nodes: r.Nodes, Pods: r.Pods, DaemonSets: r.DaemonSets, Load: r.Load(), Start: &start, Delays: &r.Delays,
			})
			require.NoError(t, err)
			newWitness(w).run(t)
			require.Equal(t, kinds(r.Machines, boughtAt), kinds(w.Bought(), boughtAt))
			require.Subset(t, kinds(w.Bought(), releasedAt), kinds(r.Machines, releasedAt), "the last one may go after the recording's end")
			compare(t, folder+".json", goldenRecording{lifeOf(r.Machines), lifeOf(w.Bought()), w.Summary()})
		})
	}
	require.GreaterOrEqual(t, stories, 5)
}

func lifeOf(machines []RecordedMachine) []string {
	var all []string
	for _, m := range machines {
		line := fmt.Sprintf("%s/%s bought at %s", m.Pool, m.Shape, m.Bought.Round(time.Millisecond))
		if m.Released >= 0 {
			line += fmt.Sprintf(", released at %s", m.Released.Round(time.Millisecond))
		}
		all = append(all, line)
	}
	return all
}
