package gate

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheStoryIsToldOfTheNthStepAfterItWasCarriedOut(t *testing.T) {
	carried := 0
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/nodes/refused" {
			w.WriteHeader(http.StatusConflict)
			return
		}
		if r.Method != http.MethodGet {
			carried++
		}
	}))
	defer target.Close()
	var g Gate
	url := g.Front(t, target.URL, nil, nil)
	ask := func(method, path string) {
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		answer.Body.Close()
	}
	var told []string
	g.Arm(2, func(step string) {
		require.Equal(t, 2, carried)
		told = append(told, step)
	})
	ask(http.MethodGet, "/api/v1/nodes/n")
	ask(http.MethodPut, "/apis/muster.sh/v1alpha1/nodeclaims/c")
	ask(http.MethodPatch, "/api/v1/nodes/refused")
	ask(http.MethodDelete, "/machines/uid?id=n")
	ask(http.MethodDelete, "/api/v1/nodes/n")
	require.Equal(t, []string{GiveBack}, told)
	require.Equal(t, []string{"write the claim", GiveBack, "delete the node"}, g.Disarm())
}
