package topology

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Solitary names the groups of pods with these rules of which no two can share a node: the required anti-affinity terms
// over hostnames that match the pod itself. Pods of a group have one name, and only they.
func (r *Rules) Solitary(namespace string, own Labels) []string {
	if r == nil {
		return nil
	}
	var groups []string
	for _, t := range r.anti {
		if t.key != corev1.LabelHostname || !t.selector.Matches(own) {
			continue
		}
		if b := t.bound(namespace); slices.Contains(b.namespaces, namespace) {
			groups = append(groups, b.id)
		}
	}
	return groups
}
