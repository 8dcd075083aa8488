package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// FenceNode is the Node of a machine without a claim, closed as for a release, and marked with that claim's UID and the Provider that
// has the machine: after a crash that tells whose it was. A claim that turns up after all opens it again.
func FenceNode(node *corev1.Node, m provider.Machine, maker string) *corev1.Node {
	n := closedNode(node)
	if n.Annotations[v1alpha1.RegisteredAnnotation] == "" {
		n.Annotations = merged(n.Annotations, map[string]string{v1alpha1.RegisteredAnnotation: string(m.ClaimUID),
			v1alpha1.ProviderAnnotation: maker})
	}
	return n
}

// MatchMachine says what a machine that has no claim and a Node have in common, as identity.Match does for claims.
func MatchMachine(m provider.Machine, node *corev1.Node) identity.How {
	_, how := identity.Match([]*v1alpha1.NodeClaim{ClaimOfMachine(m)}, node)
	return how
}

// ClaimOfMachine is the claim that a machine without one says it had.
func ClaimOfMachine(m provider.Machine) *v1alpha1.NodeClaim {
	c := &v1alpha1.NodeClaim{}
	c.Name, c.UID, c.Status.Attempts = m.Claim, m.ClaimUID, m.Attempt
	c.Status.ProviderID, c.Status.SystemUUID, c.Status.NodeName = m.ProviderID, m.SystemUUID, m.NodeName
	return c
}
