package deploy_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
)

// The promises of place mode that hang on the scheduler's configuration; the file says why for each.
func TestThePlaceConfigurationLeavesNobodyUnchecked(t *testing.T) {
	c := only[schedulerv1.KubeSchedulerConfiguration](t, shipped(t), "place/scheduler-config.yaml")

	require.EqualValues(t, 100, *c.PercentageOfNodesToScore)
	require.EqualValues(t, 1, *c.PodInitialBackoffSeconds)
	require.EqualValues(t, 2, *c.PodMaxBackoffSeconds)
	require.EqualValues(t, 500, c.ClientConnection.QPS)
	require.EqualValues(t, 1000, c.ClientConnection.Burst)
	require.True(t, *c.LeaderElection.LeaderElect)
	require.Equal(t, "kube-system/muster-scheduler", c.LeaderElection.ResourceNamespace+"/"+c.LeaderElection.ResourceName)

	require.Len(t, c.Profiles, 1, "an extender entry holds for every profile of the process")
	profile := c.Profiles[0]
	require.Equal(t, "muster", *profile.SchedulerName)
	require.Equal(t, []string{"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"}, names(profile.Plugins.Filter.Disabled))
	require.Equal(t, []string{"DefaultPreemption"}, names(profile.Plugins.PostFilter.Disabled))
	require.Empty(t, profile.Plugins.Score, "their scores stay on")
	require.Empty(t, profile.Plugins.MultiPoint, "only the filters are off")

	require.Len(t, c.Extenders, 1)
	e := c.Extenders[0]
	require.Equal(t, "http://127.0.0.1:10270/place", e.URLPrefix)
	require.Equal(t, []string{"filter", "prioritize", "", ""}, []string{e.FilterVerb, e.PrioritizeVerb, e.PreemptVerb, e.BindVerb})
	require.True(t, e.NodeCacheCapable)
	require.False(t, e.Ignorable)
	require.Empty(t, e.ManagedResources)
	require.Equal(t, 5*time.Second, e.HTTPTimeout.Duration)
}

func TestTheGuardExampleIsIgnorableAndMutual(t *testing.T) {
	c := only[schedulerv1.KubeSchedulerConfiguration](t, shipped(t), "guard/scheduler-config.yaml")
	require.Empty(t, c.Profiles, "the scheduler's own filters stay as they are")
	require.Len(t, c.Extenders, 1)
	e := c.Extenders[0]
	require.Equal(t, "https://muster.muster-system.svc:10270/guard", e.URLPrefix)
	require.Equal(t, []string{"filter", "prioritize", "preempt", ""}, []string{e.FilterVerb, e.PrioritizeVerb, e.PreemptVerb, e.BindVerb})
	require.True(t, e.NodeCacheCapable)
	require.True(t, e.Ignorable)
	require.Empty(t, e.ManagedResources)
	require.True(t, e.EnableHTTPS)
	require.False(t, e.TLSConfig.Insecure)
	for _, file := range []string{e.TLSConfig.CAFile, e.TLSConfig.CertFile, e.TLSConfig.KeyFile} {
		require.NotEmpty(t, file)
	}
}

func TestThePodsAreRestrictedAndInPairs(t *testing.T) {
	all := shipped(t)
	for file, account := range map[string]string{"place/deployment.yaml": "muster-scheduler", "guard/deployment.yaml": "muster"} {
		d := only[appsv1.Deployment](t, all, file)
		pod := d.Spec.Template.Spec
		require.Equal(t, "muster-system", d.Namespace)
		require.EqualValues(t, 2, *d.Spec.Replicas)
		require.Equal(t, account, pod.ServiceAccountName)
		require.NotEmpty(t, pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		require.True(t, *pod.SecurityContext.RunAsNonRoot)
		require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
		for _, c := range pod.Containers {
			require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, c.Name)
			require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, c.Name)
			require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop, c.Name)
			require.NotNil(t, c.LivenessProbe, c.Name)
			require.NotNil(t, c.ReadinessProbe, c.Name)
			require.Contains(t, c.Resources.Requests, corev1.ResourceMemory, c.Name)
		}
	}
}

// The extender in place mode has no TLS: whoever reaches it could take holds, so it must be reachable from its pod only.
func TestThePlaceExtenderListensOnLoopback(t *testing.T) {
	d := only[appsv1.Deployment](t, shipped(t), "place/deployment.yaml")
	require.Contains(t, d.Spec.Template.Spec.Containers[0].Args, "--listen=127.0.0.1:10270")
}

// Two Musters that both buy for the same pods would buy twice: guard mode leaves the pods of place mode alone.
func TestTheGuardBuysOnlyForItsOwnScheduler(t *testing.T) {
	d := only[appsv1.Deployment](t, shipped(t), "guard/deployment.yaml")
	require.Subset(t, d.Spec.Template.Spec.Containers[0].Args, []string{"--place-scheduler=", "--guard-scheduler=default-scheduler"})
}

func TestTheImageIsNotRoot(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	require.Contains(t, lines, "FROM scratch")
	require.Contains(t, lines, "USER 65532:65532")
	require.True(t, slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "CGO_ENABLED=0") }))
}

func names(plugins []schedulerv1.Plugin) []string {
	var all []string
	for _, p := range plugins {
		all = append(all, p.Name)
	}
	return all
}
