package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/identity"
)

func claim(name, providerID, uuid, nodeName string) *v1alpha1.NodeClaim {
	return &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status: v1alpha1.NodeClaimStatus{ProviderID: providerID, SystemUUID: uuid, NodeName: nodeName}}
}

func node(name, providerID, uuid string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node-" + name)}, Spec: corev1.NodeSpec{ProviderID: providerID}}
	n.Status.NodeInfo.SystemUUID = uuid
	return n
}

func TestANodeIsMatchedByTheStrongestLikeness(t *testing.T) {
	claims := []*v1alpha1.NodeClaim{
		claim("a-000", "px://1", "AAAA-1", ""), claim("a-001", "", "AAAA-2", ""), claim("a-002", "", "", ""),
		claim("a-003", "px://3", "", "worker-3"), claim("a-004", "px://twice", "", ""), claim("a-005", "px://twice", "", ""),
		claim("a-006", "", "00010203-0405-0607-0809-0A0B0C0D0E0F", ""),
	}
	for name, c := range map[string]struct {
		node  *corev1.Node
		claim string
		how   identity.How
	}{
		"by provider ID":                               {node("x", "px://1", ""), "a-000", identity.ByProviderID},
		"by provider ID, whatever its name says":       {node("a-002", "px://1", "AAAA-2"), "a-000", identity.ByProviderID},
		"by system UUID in another case":               {node("x", "", "aaaa-2"), "a-001", identity.BySystemUUID},
		"by system UUID beside an unknown provider ID": {node("x", "px://9", "AAAA-2"), "a-001", identity.BySystemUUID},
		"by name":                                {node(identity.MadeNodeName("a-002", "uid-a-002", 1), "px://9", "BBBB"), "a-002", identity.ByName},
		"not by the slot's name":                 {node("a-002", "px://9", "BBBB"), "", identity.NoMatch},
		"by the name that registered":            {node("worker-3", "", ""), "a-003", identity.ByName},
		"not by name after another registered":   {node("a-003", "", ""), "", identity.NoMatch},
		"not by UUID with another provider ID":   {node("x", "px://9", "AAAA-1"), "", identity.NoMatch},
		"not by name with another provider ID":   {node("a-000", "px://9", ""), "", identity.NoMatch},
		"not by name with another UUID":          {node("a-000", "", "BBBB"), "", identity.NoMatch},
		"not by part of a UUID":                  {node("x", "", "AAAA"), "", identity.NoMatch},
		"not when two claims have it":            {node("a-004", "px://twice", ""), "", identity.Ambiguous},
		"by system UUID in the other byte order": {node("x", "", "03020100-0504-0706-0809-0a0b0c0d0e0f"), "a-006", identity.BySystemUUID},
		"not when there is nothing in common":    {node("x", "", ""), "", identity.NoMatch},
		"not by a provider ID in another case":   {node("x", "PX://1", ""), "", identity.NoMatch},
	} {
		t.Run(name, func(t *testing.T) {
			got, how := identity.Match(claims, c.node)
			require.Equal(t, c.how, how, how.String())
			if c.claim == "" {
				require.Nil(t, got)
				return
			}
			require.Equal(t, c.claim, got.Name)
		})
	}
}
