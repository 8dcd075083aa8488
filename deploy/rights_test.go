package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
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
		require.NotContains(t, rule.Resources, "secrets", file)
		for _, verb := range []string{"escalate", "bind", "impersonate", "deletecollection"} {
			require.NotContains(t, rule.Verbs, verb, file)
		}
	})
}

// poweroff is the one file by which Muster may make Pods.
const poweroff = "components/poweroff/poweroff.yaml"

// A host without a BMC is switched off by a Pod on it; the right to make those is in a namespace of their own, and asked for.
func TestPodsThatSwitchNodesOffAreInANamespaceOfTheirOwn(t *testing.T) {
	objects := shipped(t)[poweroff]
	require.NotEmpty(t, objects)
	for _, object := range objects {
		switch o := object.(type) {
		case *rbacv1.Role:
			require.Equal(t, "muster-poweroff", o.Namespace)
		case *rbacv1.RoleBinding:
			require.Equal(t, "muster-poweroff", o.Namespace)
		default:
			require.NotContains(t, fmt.Sprintf("%T", o), "ClusterRole")
		}
	}
}

func TestMusterNeitherMakesNorBindsPods(t *testing.T) {
	eachRule(t, func(file string, rule rbacv1.PolicyRule) {
		if file == poweroff {
			return
		}
		for _, resource := range []string{"pods", "pods/binding", "bindings"} {
			if slices.Contains(rule.Resources, resource) {
				require.Subset(t, []string{"get", "list", "watch"}, rule.Verbs, "%s: %s", file, resource)
			}
		}
	})
}

// Both modes share what Muster does; beyond it, each account is bound to nothing that the other mode needs.
func TestEachModeHasItsOwnAccount(t *testing.T) {
	want := map[string][]string{
		"muster": {"ClusterRole muster", "Role muster"},
		"muster-scheduler": {"ClusterRole muster", "ClusterRole system:kube-scheduler", "ClusterRole system:volume-scheduler",
			"Role extension-apiserver-authentication-reader", "Role muster-scheduler"},
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
