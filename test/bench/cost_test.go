package bench

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Two seeds of each mix run beside the stories; make -C test/bench cost looks at twenty.
var (
	seeds  = flag.Int("seeds", 2, "clusters of each mix")
	sizes  = []int{100, 1000}
	larger = flag.Int("mixed", 0, "a further size of Karpenter's mix, in pods")
)

// TestCostOfMixedPods: never above Karpenter's, every pod served, and the plan stands a recount.
func TestCostOfMixedPods(t *testing.T) {
	m := newMarket()
	for _, n := range append(slices.Clone(sizes), *larger) {
		if n > 0 {
			t.Run(fmt.Sprintf("%d pods", n), func(t *testing.T) {
				for seed := range uint64(*seeds) {
					m.requireCheap(t, mixed(seed, n))
				}
			})
		}
	}
}

// TestCostOfResourcesOnly is the same for pods that demand only room, and the median is within 3 % of the lower bound.
func TestCostOfResourcesOnly(t *testing.T) {
	m := newMarket()
	for i, of := range distributions {
		t.Run(of.name, func(t *testing.T) {
			var above, saved []float64
			for seed := range uint64(*seeds) {
				d := m.requireCheap(t, resourcesOnly(seed, 1000, i))
				above = append(above, 100*d.muster.distance())
				saved = append(saved, 100-100*d.muster.cost/d.karpenter.cost)
			}
			slices.Sort(above)
			slices.Sort(saved)
			t.Logf("above the lower bound: median %.3f %%, most %.3f %%; below Karpenter: least %.3f %%, median %.2f %%",
				above[len(above)/2], above[len(above)-1], saved[0], saved[len(saved)/2])
			require.LessOrEqual(t, above[len(above)/2], 3.0)
		})
	}
}

func (m *market) requireCheap(t *testing.T, pods []*corev1.Pod) duel {
	t.Helper()
	d, err := m.fight(pods, false)
	require.NoError(t, err)
	require.Zero(t, d.karpenter.unserved, "what serves fewer is cheaper")
	require.NoError(t, d.muster.wrong, "Muster's plan")
	if d.karpenter.wrong != nil {
		t.Logf("Karpenter's plan does not stand the recount: %v", d.karpenter.wrong)
	}
	require.LessOrEqual(t, d.muster.cost, d.karpenter.cost*(1+1e-9), "Muster's cost against Karpenter's")
	return d
}
