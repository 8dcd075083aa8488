package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/replay"
)

const replayData = "../../testdata/replay/"

func replayArgs(more ...string) []string {
	return append([]string{"replay", "--pools", replayData + "pools.yaml", "--trace", replayData + "mixed.csv"}, more...)
}

func TestReplayPrintsASummary(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), replayArgs(), &stdout, &stderr), stderr.String())
	require.Regexp(t, `pods +40 arrived: 25 finished, 0 left, 0 running, 15 waiting`, stdout.String())
	require.Regexp(t, `general +small +\d+`, stdout.String())
	require.Empty(t, stderr.String(), "nobody looks, so there is no progress")

	stdout.Reset()
	args := replayArgs("--output", "json", "--nodes", replayData+"nodes.csv", "--from", "1000", "--until", "3000", "--progress", "on")
	require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
	var s replay.Summary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &s))
	require.Equal(t, replay.Schema, s.Schema)
	require.GreaterOrEqual(t, s.Start, 1000.0)
	require.Less(t, s.Pods.Arrived, 40)
	require.False(t, s.Interrupted)
}

func TestReplayOnASavedCluster(t *testing.T) {
	cluster := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(cluster, []byte(`
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: big}
  status:
    allocatable: {cpu: "400", memory: 1Ti, pods: "500"}
    conditions: [{type: Ready, status: "True"}]
- apiVersion: v1
  kind: Pod
  metadata: {name: there, namespace: default}
  spec:
    nodeName: big
    containers: [{name: c, resources: {requests: {cpu: "1"}}}]
`), 0o600))
	var stdout, stderr bytes.Buffer
	args := []string{"replay", "--pools", replayData + "pools.yaml", "--trace", replayData + "bursts.csv", "--nodes", cluster, "-o", "json"}
	require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
	var s replay.Summary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &s))
	require.Equal(t, s.Pods.Arrived, s.Pods.Finished)
	require.Equal(t, 1, s.Machines.Bought, "only the GPU pool's minimum: the node that is there takes all pods")
}

func TestReplayNamesWhatIsWrong(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.csv")
	require.NoError(t, os.WriteFile(bad, []byte("arrival_s,name,cpu_milli,memory_mib\n1,a,1,1\n2,b,x,1\n"), 0o600))
	for want, args := range map[string][]string{
		`cpu_milli "x": use a whole number`: {"replay", "--pools", replayData + "pools.yaml", "--trace", bad},
		"--output \"yaml\"":                 replayArgs("--output", "yaml"),
		"--gpu \"half\"":                    replayArgs("--gpu", "half"),
		"--until 5":                         replayArgs("--from", "6", "--until", "5"),
		"--from -1":                         replayArgs("--from", "-1"),
		"--progress \"maybe\"":              replayArgs("--progress", "maybe"),
		"read --pools":                      {"replay", "--pools", bad, "--trace", bad},
		"read --nodes":                      replayArgs("--nodes", bad),
		"no such file":                      {"replay", "--pools", replayData + "pools.yaml", "--trace", "nowhere.csv"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run(t.Context(), args, &stdout, &stderr), args)
		require.Contains(t, stderr.String(), want)
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	args := []string{"replay", "--pools", replayData + "pools.yaml", "--trace", bad, "--lenient"}
	require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
	require.Contains(t, stderr.String(), "left out 1 bad rows")
}

func TestInterruptedReplayShowsWhatItSaw(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(ctx, replayArgs("--output", "json"), &stdout, &stderr), stderr.String())
	var s replay.Summary
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &s))
	require.True(t, s.Interrupted)
	require.Less(t, s.End, 3600.0)
}
