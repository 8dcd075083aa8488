package replay

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

func TestCallsAreKubeSchedulersOwnBytes(t *testing.T) {
	var body []byte
	answer := `{"NodeNames":["b"],"FailedAndUnresolvableNodes":{"a":"Insufficient cpu","c":"Insufficient cpu"}}`
	client := &extenderClient{handler: func() http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ = io.ReadAll(r.Body)
			require.Equal(t, "application/json", r.Header.Get("Content-Type"))
			_, _ = io.WriteString(w, answer)
		})
	}}
	p, nodes := pod("p", "1500m", "1Gi"), []string{"a", "b", "c"}
	for range 2 {
		found, err := client.filter(p, nodes)
		require.NoError(t, err)
		require.Equal(t, []string{"b"}, found.nodes)
		require.Equal(t, map[string]int{"Insufficient cpu": 2}, found.reasons)
		want, err := json.Marshal(extenderv1.ExtenderArgs{Pod: p, NodeNames: &nodes})
		require.NoError(t, err)
		require.Equal(t, string(want), string(body))
	}

	for name, bad := range map[string]string{
		"a node that was not asked about": `{"NodeNames":["x"]}`,
		"an error":                        `{"Error":"no"}`,
		"rubbish":                         `{`,
	} {
		answer = bad
		_, err := client.filter(p, nodes)
		require.Error(t, err, name)
	}
	client.handler = func() http.Handler { return http.NotFoundHandler() }
	_, err := client.filter(p, nodes)
	require.ErrorContains(t, err, "code 404")
	client.handler = func() http.Handler { return nil }
	_, err = client.filter(p, nodes)
	require.ErrorIs(t, err, errRefusedConnection)
}

func TestFitErrorReadsAsUsual(t *testing.T) {
	require.Equal(t, "0/5 nodes are available: 2 node(s) are still starting, 3 Insufficient cpu.",
		fitError(5, map[string]int{"Insufficient cpu": 3, "node(s) are still starting": 2}))
	require.Equal(t, "0/5 nodes are available:", fitError(5, nil))
}
