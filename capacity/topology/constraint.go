package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// constraint is one topologySpreadConstraint, its defaults filled in as the plugin does (podtopologyspread/common.go).
type constraint struct {
	key                 string
	selector            labels.Selector
	labelKeys           []string
	maxSkew, minDomains int32
	honorsAffinity      bool   // nodeAffinityPolicy: Honor, the default
	honorsTaints        bool   // nodeTaintsPolicy: Honor; Ignore is the default
	text                string // of the selector
}

// constraints compiles those with one action. Where errs is nil those that do not parse are left out, else all are: the
// plugin gives up at the first.
func constraints(pod *corev1.Pod, action corev1.UnsatisfiableConstraintAction, errs *errorList) []constraint {
	var out []constraint
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		switch {
		case err != nil && errs != nil:
			*errs = append(*errs, err)
			return nil
		case err != nil:
			continue
		}
		out = append(out, constraint{
			key: c.TopologyKey, selector: selector, text: selectorText(selector), labelKeys: c.MatchLabelKeys,
			maxSkew: c.MaxSkew, minDomains: orElse(c.MinDomains, 1),
			honorsAffinity: orElse(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor,
			honorsTaints:   orElse(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor,
		})
	}
	return out
}

func orElse[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// bound is the constraint's selector for pods with these labels, and its text: matchLabelKeys add a demand for the pod's
// own value of each key that it has. A selector that is nil selects nothing, whatever the keys.
func (c *constraint) bound(own Labels) (selector labels.Selector, text string) {
	merged := labels.Set{}
	for _, key := range c.labelKeys {
		if value, ok := own.Lookup(key); ok {
			merged[key] = value
		}
	}
	requirements, selectable := c.selector.Requirements()
	if len(merged) == 0 || !selectable {
		return c.selector, c.text
	}
	selector = labels.SelectorFromSet(merged).Add(requirements...)
	return selector, selectorText(selector)
}

// spreadKeys are the keys of several constraints, each once, in order: only nodes with all of them count.
func spreadKeys(constraints []constraint) []string {
	var keys []string
	for i := range constraints {
		keys = append(keys, constraints[i].key)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
