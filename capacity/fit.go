package capacity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// Classes are the extended resources that a DeviceClass serves: where a node does not offer one itself, the in-tree
// DynamicResources plugin judges it, not Fit (feature DRAExtendedResource, on since 1.36).
type Classes = sets.Set[corev1.ResourceName]

// noLogger: the upstream helpers log a malformed toleration; the API server has refused those already.
var noLogger = klog.Logger{}

// Fit judges the four filters that place mode takes over from kube-scheduler: NodeUnschedulable, NodeAffinity,
// TaintToleration and NodeResourcesFit. free is the node's room for this very pod.
func Fit(a *Ask, n *Node, free Resources, classes Classes) Verdict {
	if v := Admits(a, n); !v.Fits {
		return v
	}
	return Room(a, n.Allocatable, free, classes)
}

// Admits judges all but resources: what no pod leaving the node can change. The order is the scheduler's own.
func Admits(a *Ask, n *Node) Verdict {
	if n.Object.Spec.Unschedulable && !tolerates(a, &corev1.Taint{
		Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule,
	}) {
		return refusal(CodeUnschedulable, "")
	}
	if taint, found := untolerated(a, n.Object.Spec.Taints); found {
		return refusal(CodeTaint, taint.ToString())
	}
	if ok, err := a.required.Match(n.Object); !ok || err != nil {
		return refusal(CodeAffinity, "")
	}
	return fits
}

// Room judges resources as the noderesources plugin does: a kind that the pod does not ask for is never short.
func Room(a *Ask, allocatable, free Resources, classes Classes) Verdict {
	r := &a.Requests
	switch {
	case r.Pods > free.Pods:
		return Verdict{Reason: Reason{Code: CodeTooManyPods}, Resolvable: r.Pods <= allocatable.Pods}
	case r.MilliCPU > 0 && r.MilliCPU > free.MilliCPU:
		return short(corev1.ResourceCPU, r.MilliCPU <= allocatable.MilliCPU)
	case r.Memory > 0 && r.Memory > free.Memory:
		return short(corev1.ResourceMemory, r.Memory <= allocatable.Memory)
	case r.EphemeralStorage > 0 && r.EphemeralStorage > free.EphemeralStorage:
		return short(corev1.ResourceEphemeralStorage, r.EphemeralStorage <= allocatable.EphemeralStorage)
	}
	return scalarRoom(r.Scalar, allocatable, free, classes)
}

func scalarRoom(want map[corev1.ResourceName]int64, allocatable, free Resources, classes Classes) Verdict {
	worst := fits
	for name, v := range want {
		if v <= 0 || v <= free.Scalar[name] {
			continue
		}
		if allocatable.Scalar[name] <= 0 && classes.Has(name) {
			continue
		}
		// Several may be short: the first by name is told, so that the answer does not depend on map order.
		if worst.Fits || string(name) < worst.Reason.Detail {
			worst = short(name, v <= allocatable.Scalar[name])
		}
	}
	return worst
}

func tolerates(a *Ask, t *corev1.Taint) bool {
	return schedulingv1.TolerationsTolerateTaint(noLogger, a.Tolerations, t, false)
}

func untolerated(a *Ask, taints []corev1.Taint) (corev1.Taint, bool) {
	if len(taints) == 0 {
		return corev1.Taint{}, false
	}
	return schedulingv1.FindMatchingUntoleratedTaint(noLogger, taints, a.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
}

// avoided counts the PreferNoSchedule taints the pod does not tolerate.
func avoided(a *Ask, taints []corev1.Taint) int {
	count := 0
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(a, &taints[i]) {
			count++
		}
	}
	return count
}
