package capacity

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Vacant says whether a claim's node takes pods, or will in a moment, and has none and is kept for none: one that a pool may
// count as spare.
func (v *View) Vacant(c *Claim) bool {
	if Closed(c.Object) || len(v.Reserved[c.Object.Name]) > 0 {
		return false
	}
	if c.InFlight() || c.Node.Stage == Starting {
		return true
	}
	n := c.Node
	if _, seen := v.Seen[n.Name]; !seen || c.Object.Status.State != v1alpha1.ClaimReady || n.Object.Spec.Unschedulable {
		return false
	}
	if v.HeldOn[n.Name] > 0 || !n.Reserved.IsZero() || hasTaint(n.Object.Spec.Taints, corev1.TaintNodeNotReady) ||
		hasTaint(n.Object.Spec.Taints, corev1.TaintNodeUnreachable) {
		return false
	}
	for _, p := range v.Pods[n.Name] {
		if !p.Resident() {
			return false
		}
	}
	return true
}
