package kube

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
)

// Every write that the loops know, through the real client: none of them is sent.
func TestAReadOnlyClientSendsNoWrite(t *testing.T) {
	var writes, reads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
		reads.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	scheme, err := Scheme()
	require.NoError(t, err)
	config := ReadOnly(&rest.Config{Host: server.URL})
	mapped, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper(t)})
	require.NoError(t, err)
	var k control.Kube = &Cluster{client: mapped, Now: time.Now}
	ctx, ref := t.Context(), v1alpha1.PodReference{Namespace: "default", Name: "web", UID: "web"}
	claim := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-000", ResourceVersion: "1"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "1"}}
	cordoned := node.DeepCopy()
	cordoned.Spec.Unschedulable = true
	for verb, try := range map[string]func() error{
		"create": func() error {
			_, err := k.CreateClaim(ctx, &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "p-000"}})
			return err
		},
		"update": func() error { _, err := k.UpdateClaim(ctx, claim); return err },
		"status": func() error { _, err := k.UpdateClaimStatus(ctx, claim); return err },
		"delete": func() error { return k.DeleteClaim(ctx, "p-000", "uid") },
		"cordon": func() error { return k.UpdateNode(ctx, node, cordoned) },
		"node": func() error {
			return k.DeleteNode(ctx, "n", "uid", gatetest.Proof(t, gate.DeleteNode, gate.Subject{Node: "n"}, gate.Identity{}, time.Now()))
		},
		"evict":     func() error { return k.Evict(ctx, ref, gatetest.Pods(t, gate.Evict, "n", time.Now(), ref.UID)) },
		"pod":       func() error { return k.DeletePod(ctx, ref, gatetest.Pods(t, gate.DeletePod, "n", time.Now(), ref.UID)) },
		"condition": func() error { return k.SetPodCondition(ctx, ref, corev1.PodCondition{Type: "x"}) },
		"nominate":  func() error { return k.Nominate(ctx, ref, "n") },
		"pool": func() error {
			return k.UpdatePoolStatus(ctx, &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "1"}})
		},
		"provider": func() error {
			return k.UpdateProviderStatus(ctx, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "1"}})
		},
	} {
		require.ErrorContains(t, try(), "this process only reads", verb)
	}
	require.Zero(t, writes.Load())
	_, err = k.Pod(ctx, ref)
	require.Error(t, err)
	require.Positive(t, reads.Load(), "reads go through")
}

// mapper spares the client from asking the server which kinds it knows.
func mapper(t *testing.T) *meta.DefaultRESTMapper {
	t.Helper()
	scheme, err := Scheme()
	require.NoError(t, err)
	m := meta.NewDefaultRESTMapper(nil)
	for kind := range scheme.AllKnownTypes() {
		switch kind.GroupVersion() {
		case corev1.SchemeGroupVersion:
			if kind.Kind == "Node" {
				m.Add(kind, meta.RESTScopeRoot)
				continue
			}
			m.Add(kind, meta.RESTScopeNamespace)
		case v1alpha1.GroupVersion:
			m.Add(kind, meta.RESTScopeRoot)
		}
	}
	return m
}
