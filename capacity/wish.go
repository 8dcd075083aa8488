package capacity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// NodeWish is one preferred node affinity term.
type NodeWish struct {
	// Weight is 1 to 100.
	Weight int32

	terms *nodeaffinity.PreferredSchedulingTerms
}

// nodeWishes leaves out terms that do not parse, and those that prefer nothing: an empty term, or one of no weight.
func nodeWishes(pod *corev1.Pod) []NodeWish {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	var out []NodeWish
	for _, term := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if term.Weight == 0 || len(term.Preference.MatchExpressions)+len(term.Preference.MatchFields) == 0 {
			continue
		}
		terms, err := nodeaffinity.NewPreferredSchedulingTerms([]corev1.PreferredSchedulingTerm{term})
		if err == nil {
			out = append(out, NodeWish{terms: terms, Weight: term.Weight})
		}
	}
	return out
}

// Grants says whether a node is one that is preferred.
func (w *NodeWish) Grants(n *Node) bool { return w.terms.Score(n.Object) > 0 }
