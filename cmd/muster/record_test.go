package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/extender"
	"github.com/muster-sh/muster/replay"
	"github.com/muster-sh/muster/replay/recording"
)

func TestRecordFlags(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte("too short"), 0o600))
	good := recordFlags{folder: "somewhere", size: "8Mi", age: time.Hour}
	for want, edit := range map[string]func(*recordFlags){
		`--record-max-size "few"`:      func(f *recordFlags) { f.size = "few" },
		`--record-max-size "1Ki"`:      func(f *recordFlags) { f.size = "1Ki" },
		"--record-max-age 0s":          func(f *recordFlags) { f.age = 0 },
		"--record-hash-key-file: open": func(f *recordFlags) { f.keyFile = "nowhere" },
		"9 bytes are too few":          func(f *recordFlags) { f.keyFile = key },
	} {
		f := good
		edit(&f)
		_, err := f.options(nil, nil, quiet)
		require.ErrorContains(t, err, want)
	}
	o, err := good.options([]string{"muster"}, nil, quiet)
	require.NoError(t, err)
	require.Equal(t, int64(2<<20), o.FileSize, "a bound of several files")
	require.Equal(t, []string{"muster"}, o.Header.Place)
	o, err = (&recordFlags{}).options(nil, nil, quiet)
	require.NoError(t, err)
	require.Nil(t, o)
}

func TestRecordAndInspect(t *testing.T) {
	folder := t.TempDir()
	f := recordFlags{folder: folder, size: "8Mi", age: time.Hour}
	o, err := f.options([]string{"muster"}, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	p := &program{recorder: recording.NewWriter(*o)}
	require.NoError(t, p.recorder.Open())
	registry := prometheus.NewRegistry()
	registerRecorder(registry, p.recorder)
	p.observeCall()(extender.Observation{Verb: "place/filter", Pod: "u", Offered: 2, Passed: 1, Node: "n", Took: time.Millisecond})
	p.recorder.Drain()
	require.NoError(t, p.recorder.Close())
	count, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	require.Equal(t, 4, count)

	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"record", "inspect", folder}, &stdout, &stderr), stderr.String())
	require.Regexp(t, `place/filter +1 calls`, stdout.String())
	stdout.Reset()
	require.Zero(t, run(t.Context(), []string{"record", "inspect", folder, "-o", "json"}, &stdout, &stderr), stderr.String())
	var s recording.Summary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &s))
	require.Equal(t, 1, s.Calls["place/filter"])

	for want, args := range map[string][]string{
		"no file of a recording": {"record", "inspect", t.TempDir()},
		"no such file":           {"record", "inspect", "nowhere"},
		`--output "xml"`:         {"record", "inspect", folder, "-o", "xml"},
	} {
		stderr.Reset()
		require.Equal(t, 1, run(t.Context(), args, &stdout, &stderr))
		require.Contains(t, stderr.String(), want)
	}
}

// recordDemo records the story of the demo.
func recordDemo(t *testing.T) string {
	t.Helper()
	f := recordFlags{folder: t.TempDir(), size: "8Mi", age: time.Hour}
	o, err := f.options([]string{replay.Scheduler}, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	var world *replay.World
	o.Now = func() time.Time {
		if world == nil {
			return replay.Zero
		}
		return world.Now()
	}
	w := recording.NewWriter(*o)
	require.NoError(t, w.Open())
	story, err := replay.Story(0)
	require.NoError(t, err)
	story.Observe = w.Object
	world, err = replay.New(story)
	require.NoError(t, err)
	for world.Step() {
		w.Drain()
	}
	require.NoError(t, w.Close())
	return f.folder
}

func TestReplayOfARecording(t *testing.T) {
	folder := recordDemo(t)
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"replay", "--recording", folder}, &stdout, &stderr), stderr.String())
	require.Regexp(t, `machines +5 bought: 5 released`, stdout.String())
	require.Regexp(t, `the recording of \S+ saw 5 machines bought and 5 released`, stderr.String())

	stdout.Reset()
	other := filepath.Join(t.TempDir(), "other.html")
	args := []string{"replay", "--recording", folder, "--pools", replayData + "pools.yaml", "--sweep", "idleAfter=20s,3m", "--html", other}
	require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
	for _, name := range []string{"recorded idleAfter=20s", "recorded idleAfter=3m", "pools idleAfter=20s", "pools idleAfter=3m"} {
		require.Contains(t, stdout.String(), name)
	}
	require.FileExists(t, other)

	for want, args := range map[string][]string{
		"give --trace FILE, --manifests FILE": {"replay"},
		"give one of them":                    {"replay", "--recording", folder, "--trace", "x"},
		"--pools is missing":                  {"replay", "--trace", "x"},
		"--from and --until are for traces":   {"replay", "--recording", folder, "--from", "5"},
		"no file of a recording":              {"replay", "--recording", t.TempDir()},
	} {
		stderr.Reset()
		require.Equal(t, 1, run(t.Context(), args, &stdout, &stderr))
		require.Contains(t, stderr.String(), want)
	}
}
