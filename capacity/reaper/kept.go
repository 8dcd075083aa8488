package reaper

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// protected says that somebody asked for this machine to be kept.
func protected(c *capacity.Claim) bool {
	if c.Object.Annotations[v1alpha1.DoNotReleaseAnnotation] == "true" {
		return true
	}
	for _, key := range []string{
		v1alpha1.DoNotReleaseAnnotation, v1alpha1.ScaleDownDisabledAnnotation, v1alpha1.DoNotDisruptAnnotation,
	} {
		if c.Node.Object.Annotations[key] == "true" {
			return true
		}
	}
	return false
}

// manyNodes is how many nodes must be out at least to speak of an outage.
const manyNodes = 2

// outage says whether a third of the nodes that should serve do not. Their pods may come back to life or need another node
// within minutes; and what looks idle may be what everybody is about to move to. Nodes that are still starting or on their
// way out do not count.
func outage(v *capacity.View) bool {
	serving, out := 0, 0
	for _, n := range v.Nodes {
		if n.Stage != capacity.Open {
			continue
		}
		serving++
		if unreachable(n.Object) {
			out++
		}
	}
	return out >= manyNodes && 3*out >= serving
}

// unreachable goes by the taints that the node lifecycle controller puts on.
func unreachable(n *corev1.Node) bool {
	for i := range n.Spec.Taints {
		if key := n.Spec.Taints[i].Key; key == corev1.TaintNodeNotReady || key == corev1.TaintNodeUnreachable {
			return true
		}
	}
	return false
}
