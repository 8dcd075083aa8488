package topology

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Rules is what a pod's spec says about where other pods are. It does not depend on the pod's labels and namespace, which
// come in when a Cluster resolves a Subject, so that pods of one spec share one Rules. It is never changed.
type Rules struct {
	// Err says that a selector of a required rule does not parse: the scheduler places such a pod nowhere.
	Err error

	spread, softSpread     []constraint
	spreadKeys             []string // of spread
	affinity, anti         []term
	softAffinity, softAnti []weighted

	// What the node inclusion policies of spread constraints look at.
	required    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
	// Texts that are equal where the two are.
	requiredText, tolerationsText string
}

// Compile reads the rules of a pod, nil when its spec has none. The rules of preferred terms count in that a pod whose
// preferred pod (anti-)affinity does not parse is refused too.
func Compile(pod *corev1.Pod) *Rules {
	var errs errorList
	r := &Rules{
		spread:     constraints(pod, corev1.DoNotSchedule, &errs),
		softSpread: constraints(pod, corev1.ScheduleAnyway, nil),
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAffinity != nil {
		r.affinity = terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, &errs)
		r.softAffinity = weightedTerms(a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, &errs)
	}
	if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		r.anti = terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, &errs)
		r.softAnti = weightedTerms(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, &errs)
	}
	r.Err = errors.Join(errs...)
	r.spreadKeys = spreadKeys(r.spread)
	if r.empty() {
		return nil
	}
	if len(r.spread)+len(r.softSpread) > 0 {
		r.readInclusion(pod)
	}
	return r
}

type errorList []error

func (r *Rules) empty() bool {
	return r.Err == nil && len(r.spread)+len(r.softSpread)+len(r.affinity)+len(r.anti)+len(r.softAffinity)+len(r.softAnti) == 0
}

// Selects are the label keys of pods that the rules look at.
func (r *Rules) Selects(yield func(key string) bool) {
	if r == nil {
		return
	}
	for _, list := range [][]constraint{r.spread, r.softSpread} {
		for i := range list {
			if !eachKey(list[i].selector, yield) || !yieldAll(list[i].labelKeys, yield) {
				return
			}
		}
	}
	for _, list := range [][]term{r.affinity, r.anti} {
		for i := range list {
			if !eachKey(list[i].selector, yield) {
				return
			}
		}
	}
	for _, list := range [][]weighted{r.softAffinity, r.softAnti} {
		for i := range list {
			if !eachKey(list[i].selector, yield) {
				return
			}
		}
	}
}

func eachKey(s labels.Selector, yield func(string) bool) bool {
	requirements, _ := s.Requirements()
	for i := range requirements {
		if !yield(requirements[i].Key()) {
			return false
		}
	}
	return true
}

// Spreads says whether there is a spread constraint that must hold.
func (r *Rules) Spreads() bool { return r != nil && len(r.spread) > 0 }

// Avoids says whether pods with these rules keep other pods away from where they stand.
func (r *Rules) Avoids() bool { return r != nil && len(r.anti) > 0 }

// Seeks says whether the pod goes only where certain others are.
func (r *Rules) Seeks() bool { return r != nil && len(r.affinity) > 0 }

// readInclusion keeps what nodeAffinityPolicy and nodeTaintsPolicy look at.
func (r *Rules) readInclusion(pod *corev1.Pod) {
	r.required, r.tolerations = nodeaffinity.GetRequiredNodeAffinity(pod), pod.Spec.Tolerations
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		b = appendText(b, key)
		b = appendText(b, pod.Spec.NodeSelector[key])
	}
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil &&
		a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		b = append(b, 0)
		b = appendMessage(b, a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	r.requiredText = string(b)
	b = nil
	for i := range r.tolerations {
		b = appendMessage(b, &r.tolerations[i])
	}
	r.tolerationsText = string(b)
}

// appendMessage uses the protobuf encoding of the API types, which is stable for types without maps.
func appendMessage(b []byte, m interface{ Marshal() ([]byte, error) }) []byte {
	raw, err := m.Marshal()
	if err != nil {
		return appendText(b, err.Error())
	}
	b = binary.AppendUvarint(b, uint64(len(raw)))
	return append(b, raw...)
}
