package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term is one pod affinity or anti-affinity term. matchLabelKeys and mismatchLabelKeys are not read: the API server writes
// them into the selector when a pod is created (package manifest does so for pods from files), and the plugin reads only
// that.
type term struct {
	key               string
	selector          labels.Selector
	namespaces        []string // sorted
	namespaceSelector labels.Selector
	ownNamespace      bool   // neither namespaces nor a selector of namespaces is given
	text              string // of the key and the selectors
}

// weighted is a preferred term.
type weighted struct {
	term
	weight int32
}

// terms compiles a list of terms; none where any does not parse, as the plugin does.
func terms(list []corev1.PodAffinityTerm, errs *errorList) []term {
	out := make([]term, 0, len(list))
	for i := range list {
		t, err := newTerm(&list[i])
		if err != nil {
			*errs = append(*errs, err)
			return nil
		}
		out = append(out, t)
	}
	return out
}

func weightedTerms(list []corev1.WeightedPodAffinityTerm, errs *errorList) []weighted {
	out := make([]weighted, 0, len(list))
	for i := range list {
		t, err := newTerm(&list[i].PodAffinityTerm)
		if err != nil {
			*errs = append(*errs, err)
			return nil
		}
		out = append(out, weighted{term: t, weight: list[i].Weight})
	}
	return out
}

func newTerm(t *corev1.PodAffinityTerm) (term, error) {
	selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
	if err != nil {
		return term{}, err
	}
	namespaceSelector, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
	if err != nil {
		return term{}, err
	}
	text := appendText(appendText(appendText(nil, t.TopologyKey), selectorText(selector)), selectorText(namespaceSelector))
	return term{
		key: t.TopologyKey, selector: selector,
		namespaces: slices.Compact(slices.Sorted(slices.Values(t.Namespaces))), namespaceSelector: namespaceSelector,
		ownNamespace: len(t.Namespaces) == 0 && t.NamespaceSelector == nil, text: string(text),
	}, nil
}

// boundTerm is a term of a pod in a namespace. Terms with one id match the same pods.
type boundTerm struct {
	id string
	term
}

func (t term) bound(namespace string) boundTerm {
	if t.ownNamespace {
		t.namespaces = []string{namespace}
	}
	b := append(make([]byte, 0, 128), t.text...)
	for _, name := range t.namespaces {
		b = appendText(b, name)
	}
	return boundTerm{id: string(b), term: t}
}

// selectorText tells a selector of nothing from one of everything, both of which print as an empty text.
func selectorText(s labels.Selector) string {
	if _, selectable := s.Requirements(); !selectable {
		return "-"
	}
	return "+" + s.String()
}

// seeks says whether the term, of a pod that is to be placed, matches a pod in a namespace with these labels. The plugin
// lists the namespaces that the selector matches and keeps the selector too, which it then asks about a namespace without
// labels (interpodaffinity, mergeAffinityTermNamespacesIfNotEmpty takes its term by value): a namespaceSelector that
// matches no labels at all, such as one of DoesNotExist, matches pods of every namespace.
func (t *boundTerm) seeks(all Namespaces, namespace string, pod Labels) bool {
	known, exists := all[namespace]
	return (slices.Contains(t.namespaces, namespace) ||
		t.namespaceSelector.Matches(labels.Set(nil)) ||
		exists && t.namespaceSelector.Matches(labels.Set(known))) && t.selector.Matches(pod)
}

// shuns says whether the term, of a pod that is already placed, matches a pod that is to be placed. A namespace that is
// not known has no labels.
func (t *boundTerm) shuns(all Namespaces, namespace string, pod Labels) bool {
	return (slices.Contains(t.namespaces, namespace) || t.namespaceSelector.Matches(labels.Set(all[namespace]))) &&
		t.selector.Matches(pod)
}

// inNamespaces are the namespaces that a term can match pods of, nil for any.
func (t *boundTerm) inNamespaces() []string {
	if _, selectable := t.namespaceSelector.Requirements(); selectable {
		return nil
	}
	return t.namespaces
}
