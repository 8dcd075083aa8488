package extender_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/extender"
)

// shadowed is a handler without a core: an answer that asked it would panic.
func shadowed() http.Handler {
	cfg := config(nil)
	cfg.Shadow = true
	cold := func() error { return errors.New("not warm") }
	cfg.Ready, cfg.Settled = cold, cold
	return extender.New(cfg)
}

func TestAShadowLetsEveryNodePassBeforeItHasSeenTheCluster(t *testing.T) {
	for _, path := range []string{"/place/filter", "/guard/filter"} {
		r := filtered(t, post(shadowed(), path, encode(t, named(workload("huge", "64", "1Gi"), smallNames...))))
		require.Equal(t, smallNames, *r.NodeNames)
		require.Empty(t, r.FailedNodes)
		require.Empty(t, r.FailedAndUnresolvableNodes)

		args := whole(workload("web", "1", "1Gi"), machine("open", "4", "8Gi"), machine("leaving", "4", "8Gi", v1alpha1.ReleasingTaint))
		r = filtered(t, post(shadowed(), path, encode(t, args)))
		require.Len(t, r.Nodes.Items, 2)
		require.Empty(t, r.FailedAndUnresolvableNodes)
	}
}

func TestAShadowPrefersNoNode(t *testing.T) {
	for _, path := range []string{"/place/prioritize", "/guard/prioritize"} {
		answer := post(shadowed(), path, encode(t, named(workload("web", "1", "1Gi"), "open", "full")))
		require.Equal(t, http.StatusOK, answer.Code)
		require.JSONEq(t, `[{"Host":"open","Score":0},{"Host":"full","Score":0}]`, answer.Body.String())
	}
}

func TestAShadowPassesVictimsOnAsTheyCame(t *testing.T) {
	meta := &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: "uid-old"}}, NumPDBViolations: 2}
	want := map[string]*extenderv1.MetaVictims{"open": meta, "leaving": meta}
	byUID := extenderv1.ExtenderPreemptionArgs{Pod: workload("vip", "4", "1Gi"), NodeNameToMetaVictims: want}
	victims := &extenderv1.Victims{Pods: []*corev1.Pod{workload("old", "1", "1Gi")}, NumPDBViolations: 2}
	byPod := extenderv1.ExtenderPreemptionArgs{
		Pod: workload("vip", "4", "1Gi"), NodeNameToVictims: map[string]*extenderv1.Victims{"open": victims, "leaving": victims},
	}
	for _, args := range []extenderv1.ExtenderPreemptionArgs{byUID, byPod} {
		answer := post(shadowed(), "/guard/preempt", encode(t, args))
		require.Equal(t, http.StatusOK, answer.Code)
		var r extenderv1.ExtenderPreemptionResult
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &r))
		require.Equal(t, want, r.NodeNameToMetaVictims)
	}
}

func TestAShadowStillRefusesWhatItCannotRead(t *testing.T) {
	for _, path := range []string{"/place/filter", "/place/prioritize", "/guard/filter", "/guard/prioritize", "/guard/preempt"} {
		for _, body := range []string{"", "{}", "rubbish"} {
			require.Equal(t, http.StatusBadRequest, post(shadowed(), path, []byte(body)).Code, "%s %q", path, body)
		}
	}
}
