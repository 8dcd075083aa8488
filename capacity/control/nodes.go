package control

import (
	corev1 "k8s.io/api/core/v1"
)

// ClaimsOf names the claims that a Node concerns: the one it matches, and the one that has its name on record.
func (r *Claims) ClaimsOf(node *corev1.Node) []string {
	var names []string
	if c, _ := r.claimIndex().Match(node); c != nil {
		names = append(names, c.Name)
	}
	claims, _ := r.Live.Claims()
	for _, c := range claims {
		if c.Status.NodeName == node.Name && (len(names) == 0 || names[0] != c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}
