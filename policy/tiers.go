package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Tiers groups pools by weight, the highest first, and sorts each group by name. A pod goes to a lower tier only where
// no pool above it can take the pod.
func Tiers(pools []*v1alpha1.NodePool) [][]*v1alpha1.NodePool {
	sorted := slices.Clone(pools)
	slices.SortFunc(sorted, func(a, b *v1alpha1.NodePool) int {
		return cmp.Or(cmp.Compare(b.Spec.Weight, a.Spec.Weight), strings.Compare(a.Name, b.Name))
	})
	var tiers [][]*v1alpha1.NodePool
	for i, p := range sorted {
		if i == 0 || p.Spec.Weight != sorted[i-1].Spec.Weight {
			tiers = append(tiers, nil)
		}
		tiers[len(tiers)-1] = append(tiers[len(tiers)-1], p)
	}
	return tiers
}
