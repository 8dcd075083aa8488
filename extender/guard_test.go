package extender_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/extender"
)

var vetoes = extenderv1.FailedNodesMap{
	"leaving": "node(s) are being released", "coming": "node(s) are still starting",
}

func TestGuardFilterOnlyVetoes(t *testing.T) {
	h := extender.New(config(smallWorld()))
	names := append([]string{"stranger"}, smallNames...)
	r := filtered(t, post(h, "/guard/filter", encode(t, named(workload("huge", "64", "1Gi"), names...))))
	require.Equal(t, []string{"stranger", "open", "full"}, *r.NodeNames, "fit is the scheduler's business")
	require.Equal(t, vetoes, r.FailedAndUnresolvableNodes)
}

func TestGuardFilterReadsTheTaintsOfWholeNodes(t *testing.T) {
	h := extender.New(config(smallWorld()))
	args := whole(workload("web", "1", "1Gi"),
		machine("open", "4", "8Gi", v1alpha1.ReleasingTaint), machine("stranger", "4", "8Gi"),
		machine("leaving", "4", "8Gi"), machine("new", "4", "8Gi", v1alpha1.StartingTaint))
	r := filtered(t, post(h, "/guard/filter", encode(t, args)))
	require.Len(t, r.Nodes.Items, 1)
	require.Equal(t, "stranger", r.Nodes.Items[0].Name)
	require.Equal(t, extenderv1.FailedNodesMap{
		"open": "node(s) are being released", "leaving": "node(s) are being released", "new": "node(s) are still starting",
	}, r.FailedAndUnresolvableNodes)
}

func TestGuardFilterLetsDaemonSetPodsPass(t *testing.T) {
	h := extender.New(config(smallWorld()))
	agent := workload("agent", "100m", "64Mi")
	agent.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", UID: "ds", Controller: ptr.To(true)}}
	r := filtered(t, post(h, "/guard/filter", encode(t, named(agent, smallNames...))))
	require.Equal(t, smallNames, *r.NodeNames)
}

func TestGuardPreempt(t *testing.T) {
	victims := &extenderv1.Victims{Pods: []*corev1.Pod{workload("old", "1", "1Gi")}, NumPDBViolations: 2}
	meta := &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: "uid-old"}}, NumPDBViolations: 2}
	pod := workload("vip", "4", "1Gi")
	for _, c := range []struct {
		name string
		args extenderv1.ExtenderPreemptionArgs
		want map[string]*extenderv1.MetaVictims
	}{
		{
			"leaves out the nodes that are being released or starting",
			extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{
				"open": meta, "leaving": meta, "coming": meta, "stranger": meta,
			}},
			map[string]*extenderv1.MetaVictims{"open": meta, "stranger": meta},
		},
		{
			"answers victims by UID when whole pods came",
			extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToVictims: map[string]*extenderv1.Victims{
				"open": victims, "leaving": victims,
			}},
			map[string]*extenderv1.MetaVictims{"open": meta},
		},
		{
			"never returns a node without victims",
			extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{
				"open": {}, "full": nil, "stranger": meta,
			}},
			map[string]*extenderv1.MetaVictims{"stranger": meta},
		},
		{
			"answers an empty map when every node is vetoed",
			extenderv1.ExtenderPreemptionArgs{Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"leaving": meta}},
			map[string]*extenderv1.MetaVictims{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := post(extender.New(config(smallWorld())), "/guard/preempt", encode(t, c.args))
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			var result extenderv1.ExtenderPreemptionResult
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &result))
			require.Equal(t, c.want, result.NodeNameToMetaVictims)
		})
	}
}

func TestGuardPreemptRefusesNamelessVictims(t *testing.T) {
	h := extender.New(config(smallWorld()))
	for body, field := range map[string]string{
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":""}]}}}`: `NodeNameToMetaVictims["a"].Pods[0].UID`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToMetaVictims":{"a":{"Pods":[null]}}}`:       `NodeNameToMetaVictims["a"].Pods[0].UID`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToVictims":{"a":{"Pods":[{}]}}}`:             `NodeNameToVictims["a"].Pods[0].metadata.uid`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToVictims":{"a":{"Pods":[null]}}}`:           `NodeNameToVictims["a"].Pods[0].metadata.uid`,
		`{"Pod":{"metadata":{"uid":"u"}}}`:                                                     `NodeNameToMetaVictims`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToVictims":{},"NodeNameToMetaVictims":{}}`:   `NodeNameToVictims, NodeNameToMetaVictims`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToVictims":[]}`:                              `NodeNameToVictims`,
		`{"Pod":{"metadata":{"uid":"u"}},"NodeNameToMetaVictims":{"a":3}}`:                     `NodeNameToMetaVictims`,
	} {
		w := post(h, "/guard/preempt", []byte(body))
		require.Equal(t, http.StatusBadRequest, w.Code, body)
		require.Contains(t, requireErrorText(t, w.Body.Bytes()), field+": ", body)
	}
}
