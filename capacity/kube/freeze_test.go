package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What stands between Muster and the ConfigMap: only the API server's own answers let acts go on.
func TestOnlyTheAPIServersOwnWordLetsActsGoOn(t *testing.T) {
	status := func(w http.ResponseWriter, err *apierrors.StatusError) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(err.ErrStatus.Code))
		err.ErrStatus.APIVersion, err.ErrStatus.Kind = "v1", "Status"
		_ = json.NewEncoder(w).Encode(err.ErrStatus)
	}
	object := func(data map[string]string, bytes map[string][]byte) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Name: "muster-freeze", Namespace: "ours"}, Data: data, BinaryData: bytes})
		}
	}
	configMaps := corev1.Resource("configmaps")
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		frozen bool
		why    string // of an error
	}{
		"there is none":                           {func(w http.ResponseWriter) { status(w, apierrors.NewNotFound(configMaps, "muster-freeze")) }, false, ""},
		"it is empty":                             {object(nil, nil), false, ""},
		"it freezes another pool":                 {object(map[string]string{"releases": "other"}, nil), false, ""},
		"it freezes the pool":                     {object(map[string]string{"releases": "p"}, nil), true, ""},
		"it was stored as bytes":                  {object(nil, map[string][]byte{"releases": []byte("p")}), true, ""},
		"it cannot be understood":                 {object(map[string]string{"releases": ""}, nil), true, ""},
		"Muster may not read it":                  {func(w http.ResponseWriter) { status(w, apierrors.NewForbidden(configMaps, "muster-freeze", nil)) }, true, "forbidden"},
		"a proxy knows no such path":              {func(w http.ResponseWriter) { http.Error(w, "404 page not found", http.StatusNotFound) }, true, "could not find"},
		"something else is not there":             {func(w http.ResponseWriter) { status(w, apierrors.NewNotFound(configMaps, "other")) }, true, "not found"},
		"the API server has no room for requests": {func(w http.ResponseWriter) { status(w, apierrors.NewInternalError(http.ErrBodyNotAllowed)) }, true, "Internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				require.Equal(t, "GET /api/v1/namespaces/ours/configmaps/muster-freeze", r.Method+" "+r.URL.Path)
				c.answer(w)
			}))
			t.Cleanup(server.Close)
			scheme, err := Scheme()
			require.NoError(t, err)
			mapped, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: mapper(t)})
			require.NoError(t, err)
			freeze, err := (&Cluster{client: mapped, namespace: "ours"}).Freeze(t.Context())
			if c.why == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.why)
				require.ErrorContains(t, err, "ConfigMap ours/muster-freeze: ")
			}
			frozen, _ := freeze.Releases("p")
			require.Equal(t, c.frozen, frozen)
		})
	}
}

func TestAnAPIServerThatIsGoneCountsAsFrozen(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	scheme, err := Scheme()
	require.NoError(t, err)
	mapped, err := client.New(&rest.Config{Host: server.URL}, client.Options{Scheme: scheme, Mapper: mapper(t)})
	require.NoError(t, err)
	freeze, err := (&Cluster{client: mapped, namespace: "ours"}).Freeze(t.Context())
	require.ErrorContains(t, err, "connection refused")
	frozen, why := freeze.Releases("p")
	require.True(t, frozen)
	require.Contains(t, why, "connection refused")
	frozen, _ = freeze.Provisioning("p")
	require.True(t, frozen)
}
