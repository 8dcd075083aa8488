package replay

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/replay/recording"
)

// recordStory runs a world to its end and records what its API server says, as `muster serve --record` does.
func recordStory(t *testing.T, o Options, key []byte) (*World, string) {
	t.Helper()
	folder := t.TempDir()
	var w *World
	writer := recording.NewWriter(recording.Options{
		Folder: folder, Size: recording.DefaultSize, Age: recording.DefaultAge, FileSize: recording.DefaultFileSize,
		FileAge: time.Minute, Key: key, Log: slog.New(slog.DiscardHandler), Header: recording.Header{Recording: "r", Place: []string{Scheduler}},
		Now: func() time.Time {
			if w == nil {
				return Zero
			}
			return w.Now()
		},
	})
	require.NoError(t, writer.Open())
	o.Observe = writer.Object
	var err error
	w, err = New(o)
	require.NoError(t, err)
	for w.Step() {
		writer.Drain()
	}
	require.NoError(t, writer.Close())
	return w, folder
}

func replayed(t *testing.T, r *Recorded) *World {
	t.Helper()
	start := time.Duration(0)
	w, err := New(Options{
		Pools: r.Pools, Providers: r.Providers, Nodes: r.Nodes, Pods: r.Pods, DaemonSets: r.DaemonSets, Load: r.Load(), Start: &start, Delays: &r.Delays,
	})
	require.NoError(t, err)
	for w.Step() {
	}
	return w
}

// kinds are the machines in the order of an event: what they are, not when.
func kinds(machines []RecordedMachine, by func(RecordedMachine) time.Duration) []string {
	sorted := slices.SortedStableFunc(slices.Values(machines), func(a, b RecordedMachine) int {
		return cmp.Or(cmp.Compare(by(a), by(b)), cmp.Compare(a.Pool+a.Shape, b.Pool+b.Shape))
	})
	var names []string
	for _, m := range sorted {
		if by(m) >= 0 {
			names = append(names, m.Pool+" "+m.Shape)
		}
	}
	return names
}

func boughtAt(m RecordedMachine) time.Duration   { return m.Bought }
func releasedAt(m RecordedMachine) time.Duration { return m.Released }

func TestARecordedStoryIsReplayedAlike(t *testing.T) {
	for name, key := range map[string][]byte{"names as they are": nil, "hashed": []byte("0123456789abcdef")} {
		t.Run(name, func(t *testing.T) {
			o, err := Story(0)
			require.NoError(t, err)
			was, folder := recordStory(t, o, key)
			r, err := ReadRecording(folder)
			require.NoError(t, err)
			require.Empty(t, r.Damages)
			require.Equal(t, kinds(was.Bought(), boughtAt), kinds(r.Machines, boughtAt), "the recording knows what was bought")
			require.Equal(t, kinds(was.Bought(), releasedAt), kinds(r.Machines, releasedAt))

			is := replayed(t, r)
			require.Equal(t, kinds(r.Machines, boughtAt), kinds(is.Bought(), boughtAt), "and it is bought again")
			require.Equal(t, kinds(r.Machines, releasedAt), kinds(is.Bought(), releasedAt))
			require.Equal(t, was.Summary().Pods.Arrived, is.Summary().Pods.Arrived)
			require.Zero(t, is.Summary().Pods.Unserved)
			require.InDelta(t, was.Summary().Machines.NodeHours, is.Summary().Machines.NodeHours, 0.02)
		})
	}
}

func TestAFolderWithoutPoolsIsNoRecording(t *testing.T) {
	w := recording.NewWriter(recording.Options{
		Folder: t.TempDir(), Size: 1 << 20, Age: time.Hour, FileSize: 1 << 20, FileAge: time.Hour, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return Zero }, Header: recording.Header{Recording: "r"},
	})
	require.NoError(t, w.Open())
	require.NoError(t, w.Close())
	_, err := ReadRecording(t.TempDir())
	require.ErrorContains(t, err, "no file of a recording")
}

// A recording holds no volume claims: a pod that has one goes wherever there is room, instead of nowhere.
func TestPodsOfARecordingLoseTheirClaims(t *testing.T) {
	p := pod("db", "1", "1Gi")
	p.Spec.Volumes = []corev1.Volume{
		{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	m := &memory{from: Zero}
	a := m.arrival(&recordedPod{pod: p, first: Zero})
	require.Len(t, a.Pod.Spec.Volumes, 1)
	w := newWorld(t, Options{Pools: noGrowth, Nodes: []*corev1.Node{onNode("a", "4", "8Gi")}}, a)
	w.RunUntil(Zero.Add(time.Minute))
	require.Equal(t, "a", nodeOfPod(w, "db"))
}

// A bad object names file, line, field and what is accepted; a lenient reader leaves it out and counts it.
func TestBadObjectsOfARecording(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "r-000001.muster.jsonl.gz")
	var text bytes.Buffer
	zip := gzip.NewWriter(&text)
	_, err := io.WriteString(zip, `{"schema":"muster.sh/recording/v1","recording":"r","file":1,"started":"2026-01-01T00:00:00Z","version":"v","place":["muster"]}
{"t":"2026-01-01T00:00:00Z","object":{"kind":"NodePool","body":{"metadata":{"name":"p","uid":"p"},"spec":{"provider":"sim","limits":{"maxNodes":1}}}}}
{"t":"2026-01-01T00:00:01Z","object":{"kind":"Pod","body":{"metadata":{"name":"a","uid":"a"},"spec":{"priority":"high","schedulerName":"muster"}}}}
{"t":"2026-01-01T00:00:01Z","object":{"kind":"Pod","body":{"metadata":{"name":"b","uid":"b"},"spec":{"schedulerName":"muster"}}}}
`)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	_, err = ReadRecording(folder)
	require.EqualError(t, err, "read the recording: "+file+":3: Pod: spec.priority: a string: use a value of type int32")
	r, err := ReadRecordingLenient(folder)
	require.NoError(t, err)
	require.Equal(t, 1, r.Skipped)
	require.Len(t, r.arrivals, 1)
}
