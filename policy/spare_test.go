package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/policy"
)

func TestSpare(t *testing.T) {
	for spare, wants := range map[string][]int{ // beside 0, 1, 5 and 10 nodes with pods
		"":     {0, 0, 0, 0},
		"0":    {0, 0, 0, 0},
		"2":    {2, 2, 2, 2},
		"20%":  {0, 1, 1, 2},
		"100%": {0, 1, 5, 10},
		"x":    {0, 0, 0, 0},
	} {
		pool := &v1alpha1.NodePool{}
		if spare != "" {
			value := intstr.Parse(spare)
			pool.Spec.Spare = &value
		}
		for i, used := range []int{0, 1, 5, 10} {
			require.Equal(t, wants[i], policy.Spare(pool, used), "%s beside %d", spare, used)
		}
	}
}
