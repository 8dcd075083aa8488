package deploy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// A shadow reads what Muster reads of the cluster, and has no other right.
func TestAShadowMayReadWhatMusterReadsAndNothingElse(t *testing.T) {
	all := shipped(t)
	read := func(file string) map[string]bool {
		resources := map[string]bool{}
		for _, rule := range only[rbacv1.ClusterRole](t, all, file).Rules {
			for _, resource := range rule.Resources {
				if len(rule.Verbs) == 3 && rule.Verbs[1] == "list" {
					resources[rule.APIGroups[0]+"/"+resource] = true
				}
			}
		}
		return resources
	}
	want := read("rbac/base/muster.yaml")
	delete(want, "muster.sh/hosts") // who powers hosts reads them
	require.Equal(t, want, read("shadow/account.yaml"))
	for _, rule := range only[rbacv1.ClusterRole](t, all, "shadow/account.yaml").Rules {
		require.Equal(t, []string{"get", "list", "watch"}, rule.Verbs)
	}
	for file, objects := range all {
		for _, object := range objects {
			if role, ok := object.(*rbacv1.Role); ok {
				require.False(t, strings.HasPrefix(file, "shadow"), "%s: %s", file, role.Name)
			}
		}
	}
}

func TestAShadowIsASoleRestrictedPodThatOnlyLooks(t *testing.T) {
	all := shipped(t)
	d := only[appsv1.Deployment](t, all, "shadow/deployment.yaml")
	pod := d.Spec.Template.Spec
	require.EqualValues(t, 1, *d.Spec.Replicas)
	require.Equal(t, appsv1.RecreateDeploymentStrategyType, d.Spec.Strategy.Type)
	require.Equal(t, "muster-shadow", pod.ServiceAccountName)
	require.Empty(t, pod.PriorityClassName, "whatever else is in the cluster matters more")
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	c := pod.Containers[0]
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
	called := only[appsv1.Deployment](t, all, "shadow-called/deployment.yaml")
	require.Equal(t, d.Name, called.Name)
	require.Subset(t, called.Spec.Template.Spec.Containers[0].Args, c.Args, "a list of arguments is replaced as a whole")
	require.Contains(t, c.Args, "--shadow")
}

func TestTheShadowExampleDiffersFromTheGuardsByItsNameOnly(t *testing.T) {
	all := shipped(t)
	e := only[schedulerv1.KubeSchedulerConfiguration](t, all, "shadow-called/scheduler-config.yaml").Extenders[0]
	guard := only[schedulerv1.KubeSchedulerConfiguration](t, all, "guard/scheduler-config.yaml").Extenders[0]
	require.True(t, e.Ignorable)
	guard.URLPrefix = strings.ReplaceAll(guard.URLPrefix, "//muster.", "//muster-shadow.")
	require.Equal(t, guard, e)
}
