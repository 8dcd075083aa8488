package capacity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/topology"
)

// Ask is what a pod asks of a node, compiled once and shared by all pods with the same Signature. It is never changed.
type Ask struct {
	// Signature is equal for pods that every node answers alike.
	Signature string
	// Requests is what the pod takes of a node's allocatable, one pod included.
	Requests amount.Resources
	// Tolerations of the pod.
	Tolerations []corev1.Toleration
	// Ports are the host ports it takes.
	Ports []HostPort
	// Rules is what its spec says about where other pods are; nil when nothing.
	Rules *topology.Rules
	// Unjudged says why no machine can be planned for such a pod; the zero Reason when one can.
	Unjudged Reason
	// ByName says that the pod picks nodes by what no two machines of a pool have in common: name, claim or size.
	ByName bool
	// NodeWishes are its preferred node affinity terms, in the order of the spec.
	NodeWishes []NodeWish

	required  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms
}

// NewAsk compiles what a pod asks of a node. Requests follow the noderesources plugin: the larger of the containers' sum
// and each init container with the sidecars started before it, pod-level resources first, overhead on top.
func NewAsk(pod *corev1.Pod) *Ask {
	a := newAsk(pod)
	a.compile(pod)
	return a
}

// newAsk has what a signature needs, which is all that differs between pods with different ones.
func newAsk(pod *corev1.Pod) *Ask {
	requests, sound := amount.Requested(pod)
	a := &Ask{Requests: requests, Tolerations: pod.Spec.Tolerations, Unjudged: unjudged(pod, sound)}
	a.Signature = signature(pod, a)
	return a
}

// compile does the part that pods with one signature share.
func (a *Ask) compile(pod *corev1.Pod) {
	a.required = nodeaffinity.GetRequiredNodeAffinity(pod)
	a.preferred, a.NodeWishes = preferredTerms(pod), nodeWishes(pod)
	a.Ports = hostPorts(pod)
	a.ByName = byName(pod)
	a.Rules = topology.Compile(pod)
	if a.Unjudged == (Reason{}) && a.Rules != nil && a.Rules.Err != nil {
		a.Unjudged = Reason{Code: CodeSelector, Detail: a.Rules.Err.Error()}
	}
}

func unjudged(pod *corev1.Pod, sound bool) Reason {
	switch {
	case !sound:
		return Reason{Code: CodeInvalid}
	case pod.Spec.SchedulingGroup != nil:
		return Reason{Code: CodeSchedulingGroup}
	case len(pod.Spec.ResourceClaims) > 0:
		return Reason{Code: CodeResourceClaims}
	}
	return Reason{}
}

// preferredTerms ignores terms that do not parse: a preference is never a reason to refuse, and the API server has
// validated them already.
func preferredTerms(pod *corev1.Pod) *nodeaffinity.PreferredSchedulingTerms {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	return terms
}

func byName(pod *corev1.Pod) bool {
	for key := range pod.Spec.NodeSelector {
		if ownLabel(key) {
			return true
		}
	}
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, term := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		own := func(r corev1.NodeSelectorRequirement) bool { return ownLabel(r.Key) }
		if len(term.MatchFields) > 0 || slices.ContainsFunc(term.MatchExpressions, own) {
			return true
		}
	}
	return false
}

// ownLabel says whether machines of one pool and of the same labels differ in this one.
func ownLabel(key string) bool {
	return key == corev1.LabelHostname || key == v1alpha1.ClaimLabel || key == v1alpha1.ShapeLabel
}
