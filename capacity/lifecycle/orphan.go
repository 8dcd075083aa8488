package lifecycle

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// Orphans returns the machines that belong to no claim and are not kept for the next one, sorted by their ID. One such list is a suspicion and no more:
// the claims may come from a cache. Whoever deletes one of them saw it in two complete lists, and read the claims from
// the API server after the second.
func Orphans(machines []provider.Machine, claims []*v1alpha1.NodeClaim) []provider.Machine {
	known := make(map[types.UID]bool, len(claims))
	for _, c := range claims {
		known[c.UID] = true
	}
	var orphans []provider.Machine
	for _, m := range machines {
		if m.State != provider.StateKept && !known[m.ClaimUID] {
			orphans = append(orphans, m)
		}
	}
	slices.SortFunc(orphans, func(a, b provider.Machine) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return orphans
}
