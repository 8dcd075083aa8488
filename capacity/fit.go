package capacity

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/muster-sh/muster/capacity/amount"
)

// Classes are the extended resources that a DeviceClass serves: where a node does not offer one itself, the in-tree
// DynamicResources plugin judges it, not Fit (feature DRAExtendedResource, on since 1.36).
type Classes = sets.Set[corev1.ResourceName]

// noLogger: the upstream helpers log a malformed toleration; the API server has refused those already.
var noLogger = klog.Logger{}

// Fit judges the four filters that place mode takes over from kube-scheduler: NodeUnschedulable, NodeAffinity,
// TaintToleration and NodeResourcesFit. free is the node's room for this very pod.
func Fit(a *Ask, n *Node, free amount.Resources, classes Classes) Verdict {
	if v := Admits(a, n); !v.Fits {
		return v
	}
	return Room(a, n.Allocatable, free, classes)
}

// Admits judges all but resources: what no pod leaving the node can change. The order is the scheduler's own. A pod
// whose requests cannot be trusted is admitted nowhere.
func Admits(a *Ask, n *Node) Verdict {
	if a.Unjudged.Code == CodeInvalid {
		return Verdict{Reason: a.Unjudged}
	}
	if n.Object.Spec.Unschedulable && !tolerates(a, &corev1.Taint{
		Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule,
	}) {
		return Refusal(CodeUnschedulable, "")
	}
	if taint, found := untolerated(a, n.Object.Spec.Taints); found {
		return Refusal(CodeTaint, taintText(&taint))
	}
	// A term that does not parse matches nothing; the others may still match.
	if ok, _ := a.required.Match(n.Object); !ok {
		return Refusal(CodeAffinity, "")
	}
	return Fitting
}

// Room judges resources as the noderesources plugin does: a kind that the pod does not ask for is never short. The first
// kind that is short gives the reason; room can be made only if the empty node would have enough of every kind.
func Room(a *Ask, allocatable, free amount.Resources, classes Classes) Verdict {
	r, v := &a.Requests, Fitting
	if r.Pods > free.Pods {
		v = Verdict{Reason: Reason{Code: CodeTooManyPods}, Resolvable: r.Pods <= allocatable.Pods}
	}
	v = v.lacking(corev1.ResourceCPU, r.MilliCPU, allocatable.MilliCPU, free.MilliCPU)
	v = v.lacking(corev1.ResourceMemory, r.Memory, allocatable.Memory, free.Memory)
	v = v.lacking(corev1.ResourceEphemeralStorage, r.EphemeralStorage, allocatable.EphemeralStorage, free.EphemeralStorage)
	if len(r.Scalar) == 0 {
		return v
	}
	// By name, so that the answer does not depend on map order.
	for _, name := range slices.Sorted(maps.Keys(r.Scalar)) {
		if allocatable.Scalar[name] <= 0 && classes.Has(name) {
			continue
		}
		v = v.lacking(name, r.Scalar[name], allocatable.Scalar[name], free.Scalar[name])
	}
	return v
}

// lacking is the verdict after one more kind was looked at.
func (v Verdict) lacking(name corev1.ResourceName, want, offered, free int64) Verdict {
	switch {
	case want <= 0 || want <= free:
		return v
	case v.Fits:
		return short(name, want <= offered)
	}
	v.Resolvable = v.Resolvable && want <= offered
	return v
}

func tolerates(a *Ask, t *corev1.Taint) bool {
	return schedulingv1.TolerationsTolerateTaint(noLogger, a.Tolerations, t, false)
}

func untolerated(a *Ask, taints []corev1.Taint) (corev1.Taint, bool) {
	for i := range taints {
		if t := &taints[i]; t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			if !tolerates(a, t) {
				return *t, true
			}
		}
	}
	return corev1.Taint{}, false
}

// taintText writes key=value:effect; Taint.ToString does too, at three times the cost.
func taintText(t *corev1.Taint) string {
	if t.Value == "" {
		return t.Key + ":" + string(t.Effect)
	}
	return t.Key + "=" + t.Value + ":" + string(t.Effect)
}

// Avoided counts the PreferNoSchedule taints the pod does not tolerate.
func Avoided(a *Ask, taints []corev1.Taint) int {
	count := 0
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(a, &taints[i]) {
			count++
		}
	}
	return count
}
