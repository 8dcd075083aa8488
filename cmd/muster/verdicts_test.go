package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

func machineOf(pool, name, node string) *capacity.Claim {
	return &capacity.Claim{Object: &v1alpha1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.NodeClaimSpec{Pool: pool},
		Status: v1alpha1.NodeClaimStatus{NodeName: node},
	}}
}

func TestWhyEachNodeStaysIsCountedByPoolAndListedByName(t *testing.T) {
	var n verdicts
	require.Zero(t, testutil.CollectAndCount(&n), "nothing is said before a decision")
	v := &capacity.View{Claims: []*capacity.Claim{
		machineOf("web", "web-001", "web-001"), machineOf("web", "web-000", "web-000"), machineOf("gpu", "gpu-000", ""),
	}}
	n.hear(v, reaper.Decision{
		Reasons: map[string]reaper.Reason{"web-000": reaper.Occupied, "web-001": reaper.Occupied, "gpu-000": reaper.NotReady},
		Details: map[string]string{"web-001": "pod default/a"},
	})
	require.NoError(t, testutil.CollectAndCompare(&n, strings.NewReader(`
# HELP muster_release_nodes Machines of a pool by what the last decision about releases said of them: why they stay, or why they go.
# TYPE muster_release_nodes gauge
muster_release_nodes{pool="gpu",reason="NotReady"} 1
muster_release_nodes{pool="web",reason="Occupied"} 2
`)))
	w := httptest.NewRecorder()
	n.ServeHTTP(w, nil)
	require.Equal(t, `POOL  CLAIM    NODE     REASON    DETAIL
gpu   gpu-000  -        NotReady  -
web   web-000  web-000  Occupied  -
web   web-001  web-001  Occupied  pod default/a
`, w.Body.String())
	n.hear(&capacity.View{}, reaper.Decision{})
	require.Zero(t, testutil.CollectAndCount(&n), "a machine that is gone is not counted")
}
