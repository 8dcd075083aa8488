package manifest

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// demandOwnLabels writes into a pod's selectors what the API server writes when the pod is created: the pod's own values
// of matchLabelKeys and mismatchLabelKeys (pkg/registry/core/pod/strategy.go; the gates MatchLabelKeysInPodAffinity and
// MatchLabelKeysInPodTopologySpreadSelectorMerge are on in 1.36). The scheduler's plugin reads only the selectors. Doing
// it twice changes nothing.
func demandOwnLabels(pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		demandOwn(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
	}
	for t := range affinityTerms(pod.Spec.Affinity) {
		demandOwn(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn, pod.Labels)
		demandOwn(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, pod.Labels)
	}
}

func affinityTerms(a *corev1.Affinity) func(yield func(*corev1.PodAffinityTerm) bool) {
	return func(yield func(*corev1.PodAffinityTerm) bool) {
		if a == nil {
			return
		}
		var hard []corev1.PodAffinityTerm
		var soft []corev1.WeightedPodAffinityTerm
		if p := a.PodAffinity; p != nil {
			hard, soft = p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution
		}
		if !yieldTerms(hard, soft, yield) || a.PodAntiAffinity == nil {
			return
		}
		p := a.PodAntiAffinity
		yieldTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, yield)
	}
}

func yieldTerms(
	hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm, yield func(*corev1.PodAffinityTerm) bool,
) bool {
	for i := range hard {
		if !yield(&hard[i]) {
			return false
		}
	}
	for i := range soft {
		if !yield(&soft[i].PodAffinityTerm) {
			return false
		}
	}
	return true
}

// demandOwn leaves a selector alone that is nil, which selects nothing.
func demandOwn(s *metav1.LabelSelector, keys []string, op metav1.LabelSelectorOperator, own map[string]string) {
	if s == nil {
		return
	}
	for _, key := range keys {
		value, ok := own[key]
		if !ok {
			continue
		}
		r := metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}}
		if !slices.ContainsFunc(s.MatchExpressions, func(known metav1.LabelSelectorRequirement) bool {
			return known.Key == key && known.Operator == op && slices.Equal(known.Values, r.Values)
		}) {
			s.MatchExpressions = append(s.MatchExpressions, r)
		}
	}
}
