package kube

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/muster-sh/muster/capacity"
)

// closed is an API server that lets nobody see anything.
func closed(t *testing.T) *rest.Config {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		resource := path.Base(r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden,
			Message: resource + ` is forbidden: User "muster" cannot list resource "` + resource + `"`,
		})
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

func TestAMissingRightIsNamed(t *testing.T) {
	feed := newTestFeed(t, closed(t), capacity.NewLive(capacity.Schedulers{}))
	require.NotContains(t, feed.Err().Error(), "deploy/rbac", "nobody was asked yet")
	for _, s := range feed.sources {
		require.Error(t, s.reflector.ListAndWatchWithContext(t.Context()))
		require.ErrorContains(t, feed.Err(), s.resource+": "+s.resource+` is forbidden: User "muster" cannot list resource`)
	}
	require.ErrorContains(t, feed.Err(), "missing: csidrivers, csinodes, csistoragecapacities, namespaces, "+
		"persistentvolumeclaims, persistentvolumes, poddisruptionbudgets, pods, storageclasses, volumeattachments;")
	require.ErrorContains(t, feed.Err(), "the rights that Muster needs are in deploy/rbac")
}

func TestAWatchThatGetsThroughIsNoTrouble(t *testing.T) {
	troubles := newTroubles()
	troubles.note("pods", errors.New("connection refused"))
	require.Contains(t, troubles.text([]string{"pods"}), "missing: pods; pods: connection refused")
	troubles.note("pods", nil)
	require.NotContains(t, troubles.text([]string{"nodes"}), "refused")
}

func newTestFeed(t *testing.T, config *rest.Config, live *capacity.Live) *Feed {
	scheme, err := Scheme()
	require.NoError(t, err)
	feed, err := NewFeed(config, scheme, live)
	require.NoError(t, err)
	return feed
}

func TestAStreamForgetsWhatANewListLeavesOut(t *testing.T) {
	live := capacity.NewLive(capacity.Schedulers{})
	namespace := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"is": name}}}
	}
	clients, err := kubernetes.NewForConfig(&rest.Config{})
	require.NoError(t, err)
	var s *stream
	for _, one := range sources(clients, live, newPodStore(live, time.Now), newTroubles()) {
		if one.resource == "namespaces" {
			s = one.store.(*stream)
		}
	}
	require.False(t, s.HasSynced())
	require.NoError(t, s.Replace([]any{namespace("a"), namespace("b")}, "1"))
	require.True(t, s.HasSynced())
	require.Len(t, live.View().Namespaces, 2)
	require.NoError(t, s.Add(namespace("c")))
	require.NoError(t, s.Delete(namespace("a")))
	require.Equal(t, capacity.Namespaces{"b": {"is": "b"}, "c": {"is": "c"}}, live.View().Namespaces)
	require.NoError(t, s.Replace([]any{namespace("b")}, "2"))
	require.Equal(t, capacity.Namespaces{"b": {"is": "b"}}, live.View().Namespaces)
	require.Error(t, s.Update("no object"))
}
