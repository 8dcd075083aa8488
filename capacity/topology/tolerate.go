package topology

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// noLogger: the upstream helper logs a malformed toleration; the API server has refused those already.
var noLogger = klog.Logger{}

// tolerates says whether no taint keeps pods off that is not tolerated; comparing operators are an alpha feature in 1.36.
func tolerates(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for i := range taints {
		t := &taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !schedulingv1.TolerationsTolerateTaint(noLogger, tolerations, t, false) {
			return false
		}
	}
	return true
}
