package extender_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/extender"
)

var update = flag.Bool("update", false, "write the golden answers anew")

const (
	recordedDir = "../testdata/recorded" // what a real kube-scheduler sent; `make -C test/e2e record` makes it
	answersDir  = "../testdata/extender" // what we answer
)

// TestRecordedRequests replays what a real kube-scheduler sent, each request to every verb that takes it, in a cluster
// of the nodes it was recorded in.
func TestRecordedRequests(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordedDir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no recordings in %s", recordedDir)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var recording struct {
				Path    string
				Request json.RawMessage
			}
			require.NoError(t, json.Unmarshal(text, &recording))
			require.Contains(t, allVerbs, recording.Path)
			var answers bytes.Buffer
			for _, verb := range allVerbs {
				if path.Base(verb) == path.Base(recording.Path) {
					answers.WriteString(verb + " " + answerOf(t, verb, recording.Request) + "\n")
				}
			}
			golden(t, filepath.Join(answersDir, name+".txt"), answers.Bytes())
		})
	}
}

// answerOf is what a verb answers and, after a filter call, what is held then. Whole nodes are told by their names.
func answerOf(t *testing.T, verb string, request []byte) string {
	t.Helper()
	live := recordedWorld(t)
	w := post(extender.New(config(live)), verb, request)
	var text bytes.Buffer
	text.WriteString(w.Result().Status + "\n")
	if path.Base(verb) != "filter" {
		text.Write(w.Body.Bytes()) // a list of scores, or a map: short, and in a fixed order
		return text.String()
	}
	result := filtered(t, w)
	if result.Nodes != nil {
		requireAsSent(t, request, w.Body.Bytes())
		for i := range result.Nodes.Items {
			text.WriteString("node " + result.Nodes.Items[i].Name + "\n")
		}
	}
	if result.NodeNames != nil {
		for _, name := range *result.NodeNames {
			text.WriteString("name " + name + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(result.FailedAndUnresolvableNodes)) {
		text.WriteString("not " + name + ": " + result.FailedAndUnresolvableNodes[name] + "\n")
	}
	for _, hold := range live.HoldsBefore(noon.Add(1)) {
		text.WriteString("held on " + hold.Node + ": " + string(encode(t, hold.Pod.Ask.Requests.List())) + "\n")
	}
	return text.String()
}

// requireAsSent: whole nodes go back as they came.
func requireAsSent(t *testing.T, request, answer []byte) {
	t.Helper()
	var sent, back struct {
		Nodes struct{ Items []map[string]any }
	}
	require.NoError(t, json.Unmarshal(request, &sent))
	require.NoError(t, json.Unmarshal(answer, &back))
	require.Subset(t, sent.Nodes.Items, back.Nodes.Items)
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, got, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// recordedWorld has the recorded nodes. One of them is full but for 2 CPUs, and one still starting.
func recordedWorld(t *testing.T) *capacity.Live {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordedDir, "cluster.yaml"))
	require.NoError(t, err)
	var nodes corev1.NodeList
	require.NoError(t, yaml.UnmarshalStrict(text, &nodes))
	live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if n.Name == "cordoned" {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule})
		}
		live.SetNode(n, noon)
	}
	tenant := workload("tenant", "6", "1Gi")
	tenant.Spec.NodeName = "zoned"
	live.SetPod(tenant, noon)
	return live
}
