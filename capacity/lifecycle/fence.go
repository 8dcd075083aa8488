package lifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// FenceNode is the Node of a machine without a claim, closed as for a release, and marked with that claim's UID: whoever
// comes after a crash knows whose it was. A claim that turns up after all opens it again.
func FenceNode(node *corev1.Node, m provider.Machine) *corev1.Node {
	n := closedNode(node)
	if n.Annotations[v1alpha1.RegisteredAnnotation] == "" {
		n.Annotations = merged(n.Annotations, map[string]string{v1alpha1.RegisteredAnnotation: string(m.ClaimUID)})
	}
	return n
}

// MatchMachine says what a machine that has no claim and a Node have in common, as Match does for claims.
func MatchMachine(m provider.Machine, node *corev1.Node) How {
	c := &v1alpha1.NodeClaim{}
	c.Name, c.UID = m.Claim, m.ClaimUID
	c.Status.ProviderID, c.Status.SystemUUID, c.Status.NodeName = m.ProviderID, m.SystemUUID, m.NodeName
	_, how := Match([]*v1alpha1.NodeClaim{c}, node)
	return how
}
