package manifest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/muster-sh/muster/api/manifest"
)

func TestPoolFieldsByTheirLastWord(t *testing.T) {
	for name, want := range map[string]string{
		"idleAfter":                "spec.scaleDown.idleAfter",
		"scaleDown.idleAfter":      "spec.scaleDown.idleAfter",
		"spec.scaleDown.idleAfter": "spec.scaleDown.idleAfter",
		"maxNodes":                 "spec.limits.maxNodes",
		"weight":                   "spec.weight",
	} {
		got, err := manifest.PoolField(name)
		require.NoError(t, err, name)
		require.Equal(t, want, got)
	}
	for name, want := range map[string]string{
		"idleafter": "did you mean idleAfter?",
		"Zeit":      `no field of a NodePool is called "Zeit": use one of spec.`,
		"labels":    `no field of a NodePool is called "labels"`,
		"min":       "spec.template.range.cpu.min or spec.template.range.memory.min: use the whole path",
	} {
		_, err := manifest.PoolField(name)
		require.ErrorContains(t, err, want, name)
	}
}

func TestSetJudgesWhatItSets(t *testing.T) {
	pools, err := manifest.ReadPools("../../testdata/replay/pools.yaml")
	require.NoError(t, err)
	changed, err := pools.Set("spec.scaleDown.idleAfter", "90s")
	require.NoError(t, err)
	require.Len(t, changed.Pools, len(pools.Pools))
	for i, p := range changed.Pools {
		require.Equal(t, 90*time.Second, p.Spec.ScaleDown.IdleAfter.Duration)
		require.NotEqual(t, 90*time.Second, pools.Pools[i].Spec.ScaleDown.IdleAfter.Duration, "what was read stays as it is")
		require.True(t, equality.Semantic.DeepEqual(pools.Pools[i].Spec.Template, p.Spec.Template), "nothing else changes")
		require.Equal(t, pools.Pools[i].Name, p.Name)
	}
	require.Equal(t, pools.Providers, changed.Providers)

	for value, want := range map[string]string{
		"soon": "spec.scaleDown.idleAfter=soon: spec.scaleDown.idleAfter: Invalid value",
		"7":    "must be a duration such as 90s or 10m",
		"{":    "is not a value",
	} {
		_, err := pools.Set("spec.scaleDown.idleAfter", value)
		require.ErrorContains(t, err, want, value)
	}
	_, err = pools.Set("spec.limits.maxNodes", "-1")
	require.ErrorContains(t, err, "spec.limits.maxNodes: Invalid value: -1")
}
