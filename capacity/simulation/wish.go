package simulation

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/topology"
)

// wish is a preference of a pod, to be tried as if it were a rule.
type wish struct {
	what  wishKind
	node  *capacity.NodeWish
	other topology.Wish
	// strength is what the preference could add at most to a node's score in kube-scheduler's default profile: weaker ones
	// are let go first.
	strength float64
}

// overHosts says whether the wish is about which other pods are on the same host.
func (w wish) overHosts() bool { return w.what == wishOfOthers && w.other.Key == corev1.LabelHostname }

type wishKind int8

const (
	wishOfTaints wishKind = iota
	wishOfNode
	wishOfOthers
)

// Weights of the plugins in the default profile (pkg/scheduler/apis/config/v1, getDefaultPlugins). A preferred term has
// its share of the plugin's: its own weight out of 100.
const (
	taintStrength    = 3.0
	affinityStrength = 2.0
	spreadStrength   = 2.0
	companyStrength  = 2.0
)

// wishes are the preferences of an ask, the strongest first.
func wishes(a *capacity.Ask) []wish {
	out := []wish{}
	for i := range a.NodeWishes {
		w := &a.NodeWishes[i]
		out = append(out, wish{what: wishOfNode, node: w, strength: affinityStrength * float64(w.Weight) / 100})
	}
	for _, w := range a.Rules.Wishes() {
		strength := spreadStrength
		if w.Weight > 0 {
			strength = companyStrength * float64(w.Weight) / 100
		}
		out = append(out, wish{what: wishOfOthers, other: w, strength: strength})
	}
	slices.SortStableFunc(out, func(a, b wish) int { return cmp.Compare(b.strength, a.strength) })
	return out
}
