package volume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// affinity says which nodes reach a volume; nil means all.
type affinity struct {
	// pin is the only requirement where there is but one, a label with one of some values: most volumes are tied to one
	// host or one zone, and asking this way is ten times faster.
	pin   *labels.Requirement
	terms *nodeaffinity.LazyErrorNodeSelector
}

func newAffinity(a *corev1.VolumeNodeAffinity) *affinity {
	if a == nil || a.Required == nil {
		return nil
	}
	if pin := pinOf(a.Required.NodeSelectorTerms); pin != nil {
		return &affinity{pin: pin}
	}
	return &affinity{terms: nodeaffinity.NewLazyErrorNodeSelector(a.Required)}
}

func pinOf(terms []corev1.NodeSelectorTerm) *labels.Requirement {
	if len(terms) != 1 || len(terms[0].MatchFields) > 0 || len(terms[0].MatchExpressions) != 1 {
		return nil
	}
	e := &terms[0].MatchExpressions[0]
	if e.Operator != corev1.NodeSelectorOpIn {
		return nil
	}
	pin, err := labels.NewRequirement(e.Key, selection.In, e.Values)
	if err != nil {
		return nil
	}
	return pin
}

// admits asks about a node's labels only: the scheduler shows these terms no name. A term that does not parse matches
// nothing; the others may still match.
func (a *affinity) admits(on map[string]string) bool {
	switch {
	case a == nil:
		return true
	case a.pin != nil:
		return a.pin.Matches(labels.Set(on))
	}
	var n corev1.Node
	n.Labels = on
	ok, err := a.terms.Match(&n)
	return err == nil && ok
}
