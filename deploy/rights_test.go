package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/wol"
)

// eachRule visits every rule that deploy/ ships.
func eachRule(t *testing.T, visit func(file string, rule rbacv1.PolicyRule)) {
	t.Helper()
	rules := 0
	for file, objects := range shipped(t) {
		for _, object := range objects {
			var list []rbacv1.PolicyRule
			switch o := object.(type) {
			case *rbacv1.ClusterRole:
				list = o.Rules
			case *rbacv1.Role:
				list = o.Rules
			}
			for _, rule := range list {
				rules++
				visit(file, rule)
			}
		}
	}
	require.Greater(t, rules, 10)
}

func TestRightsHaveNoWildcardsAndNoSecrets(t *testing.T) {
	eachRule(t, func(file string, rule rbacv1.PolicyRule) {
		for _, words := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
			require.NotContains(t, words, "*", file)
		}
		if file != bootstrap {
			require.NotContains(t, rule.Resources, "secrets", file)
		}
		for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
			require.NotContains(t, rule.Verbs, verb, file)
		}
	})
}

// bootstrap is the one file by which Muster may touch Secrets: it makes and deletes bootstrap tokens and reads nothing.
const bootstrap = "components/join/tokens.yaml"

func TestTokensAreMadeAndDeletedAndNotRead(t *testing.T) {
	all := shipped(t)
	role, policy := only[rbacv1.Role](t, all, bootstrap), only[admissionv1.ValidatingAdmissionPolicy](t, all, bootstrap)
	require.Equal(t, "kube-system", role.Namespace)
	require.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create", "delete"}}}, role.Rules)
	require.Equal(t, admissionv1.Fail, *policy.Spec.FailurePolicy)
	require.Equal(t, policy.Name, only[admissionv1.ValidatingAdmissionPolicyBinding](t, all, bootstrap).Spec.PolicyName)
	for _, s := range only[rbacv1.RoleBinding](t, all, bootstrap).Subjects {
		require.Contains(t, policy.Spec.MatchConditions[0].Expression, "'system:serviceaccount:"+s.Namespace+":"+s.Name+"'", "whoever has the right is bound by the policy")
	}
}

// poweroff is the one file by which Muster may make Pods.
const poweroff = "components/poweroff/poweroff.yaml"

// force lets Muster delete pods, where a pool's operator asked for that: everywhere, and nothing else.
const force = "components/force/force.yaml"

func TestForceIsTheRightToDeletePods(t *testing.T) {
	rules := 0
	eachRule(t, func(file string, rule rbacv1.PolicyRule) {
		if file == force {
			rules++
			require.Equal(t, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"delete"}}, rule)
		}
	})
	require.Equal(t, 1, rules)
}

// A host without a BMC is switched off by a Pod on it; the right to make those is in a namespace of their own, and asked for.
func TestPodsThatSwitchNodesOffAreInANamespaceOfTheirOwn(t *testing.T) {
	objects := shipped(t)[poweroff]
	require.NotEmpty(t, objects)
	for _, object := range objects {
		require.NotContains(t, fmt.Sprintf("%T", object), "ClusterRole")
		if role, ok := object.(*rbacv1.Role); ok && role.Namespace != "muster-poweroff" {
			require.Equal(t, "kube-node-lease", role.Namespace)
			require.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}}}, role.Rules)
		}
	}
}

// What a host without a BMC needs from the API server is what that component allows, no more and no less.
func TestSwitchingNodesOffTakesTheRightsThatAreGiven(t *testing.T) {
	given := map[string]bool{}
	for _, object := range shipped(t)[poweroff] {
		role, ok := object.(*rbacv1.Role)
		if !ok {
			continue
		}
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				given[strings.Join([]string{verb, rule.Resources[0], role.Namespace}, " ")] = true
			}
		}
	}
	taken, cs := map[string]bool{}, fake.NewClientset()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	h := hosttest.Host(1, v1alpha1.Power{MAC: "52:54:00:aa:bb:01", Broadcast: "127.255.255.255"})
	h.Status.Claim = &v1alpha1.HostClaim{Name: "std-000", UID: "uid", Attempt: 1}
	s := wol.Switch{Host: h, Bound: host.Bind(h, time.Now), Cluster: wol.Kube{
		Client: cs, Nodes: nodes{node}, Pod: wol.DefaultPodConfig(), Now: time.Now, Answers: wol.TCPAnswers}}
	permit := hosttest.Permits(s.Host, time.Now)
	require.NoError(t, s.Shutdown(t.Context(), permit))
	require.NoError(t, s.Off(t.Context(), permit))
	_, err := s.Read(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.On(t.Context(), ""))
	for _, a := range cs.Actions() {
		taken[strings.Join([]string{a.GetVerb(), a.GetResource().Resource, a.GetNamespace()}, " ")] = true
	}
	require.Equal(t, given, taken)
}

type nodes struct{ node *corev1.Node }

func (n nodes) NodeOf(*v1alpha1.Host) *corev1.Node { return n.node }

// Pools, Providers and Hosts are the operator's: Muster may patch them, for its finalizers, and neither make nor delete them.
func TestWhatTheOperatorMakesIsPatchedAndNotMade(t *testing.T) {
	patched := map[string]bool{}
	eachRule(t, func(file string, rule rbacv1.PolicyRule) {
		for _, resource := range []string{"nodepools", "providers", "hosts"} {
			if slices.Contains(rule.Resources, resource) {
				require.Subset(t, []string{"get", "list", "watch", "patch"}, rule.Verbs, "%s: %s", file, resource)
				patched[resource] = patched[resource] || slices.Contains(rule.Verbs, "patch") && file == "rbac/base/muster.yaml"
			}
		}
	})
	require.Equal(t, map[string]bool{"nodepools": true, "providers": true, "hosts": true}, patched)
}

func TestMusterNeitherMakesNorBindsPods(t *testing.T) {
	eachRule(t, func(file string, rule rbacv1.PolicyRule) {
		if file == poweroff || file == force {
			return
		}
		for _, resource := range []string{"pods", "pods/binding", "bindings"} {
			if slices.Contains(rule.Resources, resource) {
				require.Subset(t, []string{"get", "list", "watch"}, rule.Verbs, "%s: %s", file, resource)
			}
		}
	})
}

// Who may stop Muster is asked for apart: Muster reads that one object and no other, and nobody gets the right to write it by installing.
func TestTheFreezeIsARightOfItsOwn(t *testing.T) {
	const file = "rbac/base/freeze.yaml"
	want := map[string][]string{"muster-freeze": {"get", "update", "patch"}, "muster-freeze-reader": {"get"}}
	eachRule(t, func(of string, rule rbacv1.PolicyRule) {
		if slices.Contains(rule.Resources, "configmaps") && len(rule.ResourceNames) == 0 {
			require.NotContains(t, rule.Verbs, "create", "%s: whoever may create ConfigMaps in Muster's namespace may freeze", of)
		}
	})
	for file, objects := range shipped(t) {
		for _, object := range objects {
			switch o := object.(type) {
			case *rbacv1.Role:
				if verbs, named := want[o.Name]; named {
					require.Equal(t, "muster-system", o.Namespace)
					require.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"},
						ResourceNames: []string{gate.FreezeName}, Verbs: verbs}}, o.Rules)
					delete(want, o.Name)
				}
			case *rbacv1.RoleBinding:
				require.NotEqual(t, "muster-freeze", o.RoleRef.Name, file)
			case *rbacv1.ClusterRoleBinding:
				require.NotEqual(t, "muster-freeze", o.RoleRef.Name, file)
			}
		}
	}
	require.Empty(t, want)
	shippedMap := only[corev1.ConfigMap](t, shipped(t), file)
	require.Equal(t, gate.FreezeName, shippedMap.Name)
	require.Empty(t, shippedMap.Data, "with data, applying this again would thaw, or freeze")
	require.Empty(t, shippedMap.BinaryData)
}

// Both modes share what Muster does; beyond it, each account is bound to nothing that the other mode needs.
func TestEachModeHasItsOwnAccount(t *testing.T) {
	want := map[string][]string{
		"muster":        {"ClusterRole muster", "Role muster", "Role muster-freeze-reader"},
		"muster-shadow": {"ClusterRole muster-shadow"},
		"muster-scheduler": {"ClusterRole muster", "ClusterRole system:kube-scheduler", "ClusterRole system:volume-scheduler",
			"Role extension-apiserver-authentication-reader", "Role muster-freeze-reader", "Role muster-scheduler"},
	}
	got := map[string][]string{}
	for file, objects := range shipped(t) {
		if strings.HasPrefix(file, "components") {
			continue
		}
		for _, object := range objects {
			var role rbacv1.RoleRef
			var subjects []rbacv1.Subject
			switch o := object.(type) {
			case *rbacv1.ClusterRoleBinding:
				role, subjects = o.RoleRef, o.Subjects
			case *rbacv1.RoleBinding:
				role, subjects = o.RoleRef, o.Subjects
			}
			for _, s := range subjects {
				require.Equal(t, "ServiceAccount", s.Kind)
				require.Equal(t, "muster-system", s.Namespace)
				got[s.Name] = append(got[s.Name], role.Kind+" "+role.Name)
			}
		}
	}
	for _, roles := range got {
		slices.Sort(roles)
	}
	require.Equal(t, want, got)
}
