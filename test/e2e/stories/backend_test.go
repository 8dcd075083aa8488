package stories

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// create makes an object that goes when the story ends.
func create(s *stage.Stage, o client.Object) {
	s.T.Helper()
	require.NoError(s.T, s.Plane.Objects.Create(s.Ctx, o))
	s.T.Cleanup(func() { _ = s.Plane.Objects.Delete(context.Background(), o) })
}

// entrust makes a Secret and lets Muster's account read this one.
func entrust(s *stage.Stage, name string, data map[string]string) *v1alpha1.SecretReference {
	s.T.Helper()
	at := metav1.ObjectMeta{Namespace: s.Namespace, Name: name}
	create(s, &corev1.Secret{ObjectMeta: at, StringData: data})
	create(s, &rbacv1.Role{ObjectMeta: at, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{name}, Verbs: []string{"get"}}}})
	create(s, &rbacv1.RoleBinding{ObjectMeta: at,
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "muster-system", Name: "muster-scheduler"}}})
	return &v1alpha1.SecretReference{Namespace: s.Namespace, Name: name}
}

// register is what a kubelet does when it starts: its Node is there, with the starting taint that its configuration names.
func register(s *stage.Stage, name, providerID, systemUUID string, room corev1.ResourceList) {
	registerAs(s, name, providerID, systemUUID, room, nil)
}

// registerAs is register with labels that the kubelet puts on its Node beside its name.
func registerAs(s *stage.Stage, name, providerID, systemUUID string, room corev1.ResourceList, more map[string]string) {
	labels := map[string]string{corev1.LabelHostname: name}
	maps.Copy(labels, more)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.NodeSpec{ProviderID: providerID,
			Taints: []corev1.Taint{{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room, NodeInfo: corev1.NodeSystemInfo{SystemUUID: systemUUID}}}
	_, err := s.Plane.Client.CoreV1().Nodes().Create(s.Ctx, node, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) && s.Ctx.Err() == nil {
		s.T.Logf("node %s: %v", name, err)
	}
}

// noCanary reads every log of the story.
func noCanary(t testing.TB, folder, canary string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotContains(t, string(text), canary, path)
		return nil
	}))
	require.Positive(t, files)
}

// keepsSecret looks for a secret wherever Muster writes: its logs, its metrics, events, and the status of its objects.
func keepsSecret(s *stage.Stage, r *stage.Replica, canary string) {
	s.T.Helper()
	noCanary(s.T, s.Logs, canary)
	objects, err := s.Plane.Kubectl(s.Ctx, "get", "events,nodes,nodepools,nodeclaims,providers,hosts", "-A", "-o", "yaml")
	require.NoError(s.T, err)
	require.Contains(s.T, objects, "kind: Event")
	require.NotContains(s.T, objects, canary)
	page, err := r.Muster.MetricsPage(s.Ctx)
	require.NoError(s.T, err)
	require.Contains(s.T, page, "muster_provider_call_duration_seconds")
	require.NotContains(s.T, page, canary)
}

// families are the machines of several backends.
type families []stage.Machinery

// List is every machine of all of them.
func (t families) List(ctx context.Context) ([]witness.Machine, error) {
	var all []witness.Machine
	for _, m := range t {
		list, err := m.List(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

func hostsOf(s *stage.Stage) map[string]v1alpha1.HostStatus {
	var list v1alpha1.HostList
	require.NoError(s.T, s.Plane.Objects.List(s.Ctx, &list))
	out := map[string]v1alpha1.HostStatus{}
	for _, h := range list.Items {
		out[h.Name] = h.Status
	}
	return out
}

// powered are a Provider's hosts that have a claim or are on. The power is read first: a claim is written before its host is
// switched on, and taken away some time after it went off, so a host that is on without one was switched on for nobody.
func powered(ctx context.Context, s *stage.Stage, provider string, isOn func(name string) bool) ([]witness.Machine, error) {
	var before, hosts v1alpha1.HostList
	if err := s.Plane.Objects.List(ctx, &before); err != nil {
		return nil, err
	}
	on := map[string]bool{}
	for _, h := range before.Items {
		on[h.Name] = h.Spec.Provider == provider && isOn(h.Name)
	}
	if err := s.Plane.Objects.List(ctx, &hosts); err != nil {
		return nil, err
	}
	var all []witness.Machine
	for _, h := range hosts.Items {
		m := witness.Machine{ID: h.Name, ProviderID: h.Spec.ProviderID, State: map[bool]string{true: "on"}[on[h.Name]]}
		if c := h.Status.Claim; c != nil && h.Spec.Provider == provider {
			m.Claim, m.ClaimUID, m.Attempt = c.Name, c.UID, c.Attempt
		}
		if on[h.Name] || m.Claim != "" {
			all = append(all, m)
		}
	}
	return all, nil
}
