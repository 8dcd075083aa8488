package capacity

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Replaces says whether a claim's machine is on its way to replace another, or that one's pods are on their way to it.
func (v *View) Replaces(c *Claim) bool {
	for _, old := range c.Object.Spec.Replaces {
		if o := v.Claim(old.Name); o != nil && o.Object.UID == old.UID && !givenUp(o.Object) &&
			(c.InFlight() || o.Object.Spec.Release != nil) {
			return true
		}
	}
	return false
}

// givenUp says that a claim's machine is being given back, or that there was none.
func givenUp(c *v1alpha1.NodeClaim) bool {
	return c.Status.State == v1alpha1.ClaimReleasing || c.Status.State == v1alpha1.ClaimFailed
}

// Claim is the claim of that name; nil when there is none.
func (v *View) Claim(name string) *Claim {
	i, found := slices.BinarySearchFunc(v.Claims, name, func(c *Claim, name string) int { return strings.Compare(c.Object.Name, name) })
	if !found {
		return nil
	}
	return v.Claims[i]
}

// Vacant says whether a claim's node takes pods, or will in a moment, and has none and is kept for none: one that a pool may
// count as spare.
func (v *View) Vacant(c *Claim) bool {
	if Closed(c.Object) || len(v.Reserved[c.Object.Name]) > 0 || v.Replaces(c) {
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
