package capacity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// nodeWish is one preferred node affinity term.
type nodeWish struct {
	terms  *nodeaffinity.PreferredSchedulingTerms
	weight int32
}

// nodeWishes leaves out terms that do not parse, and those that prefer nothing: an empty term, or one of no weight.
func nodeWishes(pod *corev1.Pod) []nodeWish {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	var out []nodeWish
	for _, term := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if term.Weight == 0 || len(term.Preference.MatchExpressions)+len(term.Preference.MatchFields) == 0 {
			continue
		}
		terms, err := nodeaffinity.NewPreferredSchedulingTerms([]corev1.PreferredSchedulingTerm{term})
		if err == nil {
			out = append(out, nodeWish{terms: terms, weight: term.Weight})
		}
	}
	return out
}

func (w *nodeWish) grants(n *Node) bool { return w.terms.Score(n.Object) > 0 }
