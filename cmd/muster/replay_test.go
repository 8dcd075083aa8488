package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/replay"
)

const (
	replayData = "../../testdata/replay/"
	shop       = replayData + "shaped/apps.yaml"
)

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

func TestReplayOfManifestsWithAShape(t *testing.T) {
	args := []string{"replay", "--pools", replayData + "pools.yaml", "--manifests", shop, "--shape", replayData + "shaped/day.yaml", "--seed", "7", "-o", "json"}
	var first, again, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), args, &first, &stderr), stderr.String())
	require.Equal(t, "the shape makes 321 pods in 48h0m0s\n", stderr.String())
	var s replay.Summary
	require.NoError(t, json.Unmarshal(first.Bytes(), &s))
	require.Equal(t, 321, s.Pods.Arrived)
	require.Equal(t, s.Pods.Arrived, s.Pods.Finished+s.Pods.Left)
	require.Zero(t, run(t.Context(), args, &again, &stderr), stderr.String())
	require.Equal(t, first.String(), again.String())

	broken := filepath.Join(t.TempDir(), "apps.yaml")
	text, err := os.ReadFile(shop)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(broken, bytes.Replace(text, []byte("replicas: 2"), []byte("replicas: -2"), 1), 0o600))
	args[4] = broken
	require.Equal(t, 1, run(t.Context(), args, &again, &stderr))
	require.Contains(t, stderr.String(), broken+":6: spec.replicas: Invalid value: -2: use a whole number from 0 to 100000")
	stderr.Reset()
	require.Zero(t, run(t.Context(), append(args, "--lenient"), &again, &stderr), stderr.String())
	require.Contains(t, stderr.String(), "left out 1 mistakes of manifests:\n"+broken+":6")
	require.Contains(t, stderr.String(), "left out 1 entries of the shape")
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
		`cpu_milli "x": use a whole number`:  {"replay", "--pools", replayData + "pools.yaml", "--trace", bad},
		"--output \"yaml\"":                  replayArgs("--output", "yaml"),
		"--gpu \"half\"":                     replayArgs("--gpu", "half"),
		"--until 5":                          replayArgs("--from", "6", "--until", "5"),
		"--from -1":                          replayArgs("--from", "-1"),
		"--progress \"maybe\"":               replayArgs("--progress", "maybe"),
		"read --pools":                       {"replay", "--pools", bad, "--trace", bad},
		"read --nodes":                       replayArgs("--nodes", bad),
		"--wait \"median\"":                  replayArgs("--wait", "median"),
		"--sweep idleAfter: use FIELD=":      replayArgs("--sweep", "idleAfter"),
		"--sweep idleAfter=1m,: a value":     replayArgs("--sweep", "idleAfter=1m,"),
		"did you mean idleAfter":             replayArgs("--sweep", "idleafter=1m"),
		"must be a duration":                 replayArgs("--sweep", "idleAfter=5"),
		"that makes 65 policies":             replayArgs("--sweep", "weight="+strings.Repeat("1,", 64)+"1"),
		"two policies are called \"pools\"":  replayArgs("--pools", replayData+"pools.yaml"),
		"--manifests and --shape: give both": {"replay", "--pools", replayData + "pools.yaml", "--manifests", bad},
		"give one of them":                   replayArgs("--manifests", bad, "--shape", bad),
		"read --manifests":                   {"replay", "--pools", replayData + "pools.yaml", "--manifests", bad, "--shape", bad},
		"read --shape":                       {"replay", "--pools", replayData + "pools.yaml", "--manifests", shop, "--shape", shop},
		"--html":                             replayArgs("--html", "/dev/null/x"),
		"no such file":                       {"replay", "--pools", replayData + "pools.yaml", "--trace", "nowhere.csv"},
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

func TestReplayComparesPolicies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "compare.html")
	var stdout, stderr bytes.Buffer
	args := []string{
		"replay", "--trace", replayData + "mixed.csv", "--pools", "today=" + replayData + "pools.yaml", "--pools", replayData + "pools.yaml",
		"--sweep", "idleAfter=1m,20m", "-o", "json", "--wait", "p99", "--html", file, "--progress", "on",
	}
	require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
	var c replay.Comparison
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &c))
	require.Equal(t, replay.ComparisonSchema, c.Schema)
	require.Equal(t, replay.WaitP99, c.Tradeoff)
	var names []string
	for _, o := range c.Policies {
		names = append(names, o.Name)
	}
	require.Equal(t, []string{"today idleAfter=1m", "today idleAfter=20m", "pools idleAfter=1m", "pools idleAfter=20m"}, names)
	require.Equal(t, map[string]string{"spec.scaleDown.idleAfter": "20m"}, c.Policies[1].Settings)
	require.Equal(t, c.Policies[0].Summary, c.Policies[2].Summary, "the same pools, the same figures, whoever runs beside")
	require.Greater(t, c.Policies[1].Machines.NodeHours, c.Policies[0].Machines.NodeHours)
	require.Contains(t, c.Front, "today idleAfter=1m")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "Replay of mixed.csv")
	require.Contains(t, stderr.String(), "of 4 policies done")
}

func TestASweepOfOnePolicyNeedsNoName(t *testing.T) {
	var stdout, stderr bytes.Buffer
	args := replayArgs("--sweep", "idleAfter=1m,5m", "--sweep", "maxInFlight=0,1")
	require.Zero(t, run(t.Context(), args, &stdout, &stderr), stderr.String())
	require.Regexp(t, `(?m)  idleAfter=1m maxInFlight=0( \*+)?$`, stdout.String())
	require.Regexp(t, `(?m)  idleAfter=5m maxInFlight=1( \*+)?$`, stdout.String())
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
