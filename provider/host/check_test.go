package host_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

func poolWith(cpu string, selector *v1alpha1.HostSelector) *v1alpha1.NodePool {
	p := &v1alpha1.NodePool{}
	p.Name = "std"
	p.Spec.Template.Hosts = selector
	p.Spec.Template.Shapes = []v1alpha1.Shape{{Name: "m", Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse("1Gi")}}}
	return p
}

func TestCheckPoolCountsTheHostsThatCouldServe(t *testing.T) {
	inUse := made(2, labelled("hall", "north"))
	inUse.Status.State, inUse.Status.Claim = v1alpha1.HostReady, &v1alpha1.HostClaim{Name: "std-000"}
	rack := hosttest.NewRack(nil, made(1, labelled("hall", "south")), inUse,
		made(3, func(h *v1alpha1.Host) { h.Spec.Pools = []string{"gpu"} }))
	for name, c := range map[string]struct {
		pool  *v1alpha1.NodePool
		level provider.Level
		want  string
	}{
		"any, in use or not":        {poolWith("1", nil), provider.LevelOK, "2 of 3 hosts can serve it"},
		"those that are picked":     {poolWith("1", &v1alpha1.HostSelector{MatchLabels: map[string]v1alpha1.LabelValue{"hall": "north"}}), provider.LevelOK, "1 of 3"},
		"none that is picked":       {poolWith("1", &v1alpha1.HostSelector{MatchLabels: map[string]v1alpha1.LabelValue{"hall": "nord"}}), provider.LevelError, "no host can ever serve it: "},
		"none that is large enough": {poolWith("999", nil), provider.LevelError, "less than 999 cpu"},
		"a selector that is none": {poolWith("1", &v1alpha1.HostSelector{MatchExpressions: []v1alpha1.HostRequirement{{Key: "a", Operator: "Near"}}}),
			provider.LevelError, "Near"},
	} {
		found := rack.Provider.CheckPool(t.Context(), c.pool)
		require.Len(t, found, 1, name)
		require.Equal(t, c.level, found[0].Level, name)
		require.Contains(t, found[0].Message, c.want, name)
		require.True(t, c.level == provider.LevelOK || found[0].Hint != "", name)
	}
}
