package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Only a definition that is there and is not being deleted stands: any other answer, and none, keeps machines.
func TestADefinitionStandsOnlyWhereTheAPIServerShowsIt(t *testing.T) {
	const body = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"nodeclaims.muster.sh"%s}}`
	for name, c := range map[string]struct {
		code int
		body string
		says string // "" stands
	}{
		"there":         {code: 200, body: fmt.Sprintf(body, "")},
		"being deleted": {code: 200, body: fmt.Sprintf(body, `,"deletionTimestamp":"2026-03-01T08:00:00Z"`), says: "is being deleted"},
		"gone":          {code: 404, says: "cannot see"},
		"no right":      {code: 403, says: "cannot see"},
		"overloaded":    {code: 503, says: "cannot see"},
		"no answer":     {says: "cannot see"},
	} {
		t.Run(name, func(t *testing.T) {
			var path string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				path = r.URL.Path
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.code)
				_, _ = fmt.Fprint(w, c.body)
			}))
			t.Cleanup(server.Close)
			scheme, err := Scheme()
			require.NoError(t, err)
			definition := schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
			m := meta.NewDefaultRESTMapper([]schema.GroupVersion{definition})
			m.Add(definition.WithKind("CustomResourceDefinition"), meta.RESTScopeRoot)
			reader, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: m})
			require.NoError(t, err)
			if c.code == 0 {
				server.Close()
			}
			err = (&Cluster{client: reader}).DefinitionStands(t.Context(), v1alpha1.ClaimDefinition)
			if c.code != 0 {
				require.Equal(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.muster.sh", path)
			}
			if c.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, v1alpha1.ClaimDefinition)
		})
	}
}
