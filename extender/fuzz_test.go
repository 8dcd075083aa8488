package extender_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/extender"
)

// bodies are seeds: what the scheduler sends, and what nobody should.
func bodies(f *testing.F) {
	pod := workload("web", "500m", "1Gi")
	meta := map[string]*extenderv1.MetaVictims{"open": {Pods: []*extenderv1.MetaPod{{UID: "u"}}}, "leaving": nil}
	victims := map[string]*extenderv1.Victims{"open": {Pods: []*corev1.Pod{pod}, NumPDBViolations: 1}}
	for _, v := range []any{
		named(pod, smallNames...), named(pod), whole(pod, machine("open", "4", "8Gi")), whole(pod),
		extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: meta},
		extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToVictims: victims},
	} {
		f.Add(encode(f, v))
	}
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `{"Pod":null}`, `{"Pod":{"metadata":{"uid":"u"}},"NodeNames":["a","a"]}`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNames":["\u0061","\ud800"]}`, "{\"Pod\":\"\xff\"}", strings.Repeat("[", 200),
		`{"Pod":` + asking(`{"cpu":"-1"}`) + `,"NodeNames":["open"]}`, `{"Pod":` + asking(`{"cpu":"1e30"}`) + `,"NodeNames":["open"]}`,
		`{"Pod":{"metadata":{"uid":"u"}},"Nodes":{"items":[{"metadata":{"name":"open"},"status":{"allocatable":{"":""}}}]}}`,
		`{"Pod":` + asking(`{"cpu":1,"a.b/c":"9E"}`) + `,"NodeNames":["open"]}`,
	} {
		f.Add([]byte(s))
	}
}

// sound says that any body gets a decision or a refusal with a text, and that a decision is one the scheduler can use.
func sound(t *testing.T, h http.Handler, path string, body []byte, answer any) bool {
	w := post(h, path, body)
	switch w.Code {
	case http.StatusOK:
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), answer), w.Body.String())
		return true
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		requireErrorText(t, w.Body.Bytes())
		return false
	}
	t.Fatalf("status %d: %s", w.Code, w.Body.String())
	return false
}

func FuzzFilter(f *testing.F) {
	bodies(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/place/filter", "/guard/filter"} {
			var result filterResult
			if !sound(t, extender.New(config(smallWorld())), path, body, &result) {
				continue
			}
			require.Empty(t, result.FailedNodes)
			requireOffered(t, body, result)
		}
	})
}

// filterResult is an ExtenderFilterResult with whole nodes unread: they go back as they came, and we read less of them
// than kube-scheduler's types do.
type filterResult struct {
	Nodes                                   *struct{ Items []json.RawMessage }
	NodeNames                               *[]string
	FailedNodes, FailedAndUnresolvableNodes map[string]string
}

// requireOffered: an answer with a node that was not offered is an error for the scheduler.
func requireOffered(t *testing.T, body []byte, result filterResult) {
	t.Helper()
	var args struct {
		Nodes     *struct{ Items []json.RawMessage }
		NodeNames *[]string
	}
	require.NoError(t, json.Unmarshal(body, &args))
	if args.NodeNames != nil {
		require.NotNil(t, result.NodeNames)
		require.Subset(t, *args.NodeNames, *result.NodeNames)
		require.LessOrEqual(t, len(*result.NodeNames)+len(result.FailedAndUnresolvableNodes), len(*args.NodeNames))
		return
	}
	require.NotNil(t, result.Nodes)
	require.LessOrEqual(t, len(result.Nodes.Items), len(args.Nodes.Items))
}

func FuzzPrioritize(f *testing.F) {
	bodies(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{"/place/prioritize", "/guard/prioritize"} {
			var scores extenderv1.HostPriorityList
			if !sound(t, extender.New(config(smallWorld())), path, body, &scores) {
				continue
			}
			for _, s := range scores {
				require.GreaterOrEqual(t, s.Score, extenderv1.MinExtenderPriority)
				require.LessOrEqual(t, s.Score, extenderv1.MaxExtenderPriority)
			}
		}
	})
}

func FuzzPreempt(f *testing.F) {
	bodies(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		var result extenderv1.ExtenderPreemptionResult
		if !sound(t, extender.New(config(smallWorld())), "/guard/preempt", body, &result) {
			return
		}
		require.NotContains(t, result.NodeNameToMetaVictims, "leaving")
		for name, victims := range result.NodeNameToMetaVictims {
			require.NotNil(t, victims, name)
			require.NotEmpty(t, victims.Pods, name)
		}
	})
}
