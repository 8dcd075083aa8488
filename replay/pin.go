package replay

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// The scheduler's own words.
const (
	conflictingPins = "pod affinity terms conflict"
	notPinned       = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
)

// pins are the names of the nodes that a pod's node affinity names, and whether it does: each of its terms has to ask for
// metadata.name. The place profile takes the plugin NodeAffinity away from the filters only; what its PreFilter returns still
// limits which nodes are looked at (PreFilter in pkg/scheduler/framework/plugins/nodeaffinity). No name at all means that the
// terms contradict themselves.
func pins(p *corev1.Pod) (names sets.Set[string], pinned bool) {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil, false
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	names = sets.New[string]()
	for _, t := range terms {
		of, named := pinsOf(t)
		if !named {
			return nil, false
		}
		names = names.Union(of)
	}
	return names, len(terms) > 0
}

func pinsOf(t corev1.NodeSelectorTerm) (names sets.Set[string], named bool) {
	for _, r := range t.MatchFields {
		switch {
		case r.Key != metav1.ObjectNameField || r.Operator != corev1.NodeSelectorOpIn:
		case !named:
			names, named = sets.New(r.Values...), true
		default:
			names = names.Intersection(sets.New(r.Values...))
		}
	}
	return names, named
}

// among are the nodes that are looked at.
func among(nodes []string, names sets.Set[string]) []string {
	return slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return !names.Has(n) })
}

// matchesNow says whether a node that was added or changed lets the pod's node affinity in, and did not before
// (isSchedulableAfterNodeChange).
func matchesNow(p *corev1.Pod, old, fresh *corev1.Node) bool {
	want := nodeaffinity.GetRequiredNodeAffinity(p)
	now, err := want.Match(fresh)
	if err != nil || !now || old == nil {
		return err != nil || now
	}
	before, err := want.Match(old)
	return err != nil || !before
}
