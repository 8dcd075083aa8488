package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

func claim(name, providerID, uuid, nodeName string) *v1alpha1.NodeClaim {
	return &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)},
		Status: v1alpha1.NodeClaimStatus{ProviderID: providerID, SystemUUID: uuid, NodeName: nodeName}}
}

func node(name, providerID, uuid string) *corev1.Node {
	n := newNode(name, providerID)
	n.Status.NodeInfo.SystemUUID = uuid
	return n
}

func TestANodeIsMatchedByTheStrongestLikeness(t *testing.T) {
	claims := []*v1alpha1.NodeClaim{
		claim("a-000", "px://1", "AAAA-1", ""), claim("a-001", "", "AAAA-2", ""), claim("a-002", "", "", ""),
		claim("a-003", "px://3", "", "worker-3"), claim("a-004", "px://twice", "", ""), claim("a-005", "px://twice", "", ""),
	}
	for name, c := range map[string]struct {
		node  *corev1.Node
		claim string
		how   lifecycle.How
	}{
		"by provider ID":                               {node("x", "px://1", ""), "a-000", lifecycle.ByProviderID},
		"by provider ID, whatever its name says":       {node("a-002", "px://1", "AAAA-2"), "a-000", lifecycle.ByProviderID},
		"by system UUID in another case":               {node("x", "", "aaaa-2"), "a-001", lifecycle.BySystemUUID},
		"by system UUID beside an unknown provider ID": {node("x", "px://9", "AAAA-2"), "a-001", lifecycle.BySystemUUID},
		"by name":                              {node("a-002", "px://9", "BBBB"), "a-002", lifecycle.ByName},
		"by the name that registered":          {node("worker-3", "", ""), "a-003", lifecycle.ByName},
		"not by name after another registered": {node("a-003", "", ""), "", lifecycle.NoMatch},
		"not by UUID with another provider ID": {node("x", "px://9", "AAAA-1"), "", lifecycle.NoMatch},
		"not by name with another provider ID": {node("a-000", "px://9", ""), "", lifecycle.NoMatch},
		"not by name with another UUID":        {node("a-000", "", "BBBB"), "", lifecycle.NoMatch},
		"not by part of a UUID":                {node("x", "", "AAAA"), "", lifecycle.NoMatch},
		"not when two claims have it":          {node("a-004", "px://twice", ""), "", lifecycle.Ambiguous},
		"not when there is nothing in common":  {node("x", "", ""), "", lifecycle.NoMatch},
		"not by a provider ID in another case": {node("x", "PX://1", ""), "", lifecycle.NoMatch},
	} {
		t.Run(name, func(t *testing.T) {
			got, how := lifecycle.Match(claims, c.node)
			require.Equal(t, c.how, how, how.String())
			if c.claim == "" {
				require.Nil(t, got)
				return
			}
			require.Equal(t, c.claim, got.Name)
		})
	}
}

func TestPairs(t *testing.T) {
	claims := []*v1alpha1.NodeClaim{claim("a-000", "px://1", "u1", ""), claim("a-001", "px://2", "", ""), claim("a-002", "", "u3", ""),
		claim("a-003", "px://t", "", ""), claim("a-004", "px://t", "", "")}
	nodes := []*corev1.Node{node("a-000", "", ""), node("w", "px://1", ""), node("v", "px://2", ""), node("v2", "px://2", ""),
		node("a-002", "", ""), node("x", "", "u3"), node("y", "px://t", "")}
	for range 2 {
		pairs, claimsTied, nodesTied := lifecycle.Pairs(claims, nodes)
		require.Equal(t, "w", pairs["a-000"].Node.Name, "the provider ID beats the name")
		require.Equal(t, "x", pairs["a-002"].Node.Name)
		require.Len(t, pairs, 2)
		require.Equal(t, []string{"a-001"}, claimsTied)
		require.Equal(t, []string{"y"}, nodesTied)
		slices.Reverse(nodes)
	}
}

func TestWhatASightingBecomesAfterACall(t *testing.T) {
	m := provider.Machine{ID: "vm", ClaimUID: "u"}
	seen := lifecycle.Seen(m, start)
	for name, c := range map[string]struct {
		outcome lifecycle.Outcome
		want    lifecycle.Presence
	}{
		"created":                 {lifecycle.Outcome{Verb: lifecycle.VerbCreate, Machine: m}, lifecycle.Present},
		"looked":                  {lifecycle.Outcome{Verb: lifecycle.VerbLook, Machine: m}, lifecycle.Present},
		"looked, and it is gone":  {lifecycle.Outcome{Verb: lifecycle.VerbLook, Err: provider.ErrNotFound}, lifecycle.Absent},
		"deleted, and it is gone": {lifecycle.Outcome{Verb: lifecycle.VerbDelete, Err: provider.ErrNotFound}, lifecycle.Absent},
		"deletion accepted":       {lifecycle.Outcome{Verb: lifecycle.VerbDelete}, lifecycle.Present},
		"unknown":                 {lifecycle.Outcome{Verb: lifecycle.VerbLook, Err: provider.ErrUnknown}, lifecycle.Present},
		"not created, not found":  {lifecycle.Outcome{Verb: lifecycle.VerbCreate, Err: provider.ErrNotFound}, lifecycle.Present},
		"anything else":           {lifecycle.Outcome{Verb: lifecycle.VerbDelete, Err: fmt.Errorf("boom")}, lifecycle.Present},
	} {
		require.Equal(t, c.want, seen.After(c.outcome).Presence, name)
	}
	later := lifecycle.Sighting{Presence: lifecycle.Absent, At: start.Add(1)}
	require.Equal(t, later, seen.Newest(later))
	require.Equal(t, later, later.Newest(seen))
	require.Equal(t, seen, lifecycle.Sighting{}.Newest(seen))
	require.Equal(t, seen, seen.Newest(lifecycle.Sighting{}))
}

func BenchmarkMatchThousandNodes(b *testing.B) {
	var claims []*v1alpha1.NodeClaim
	var nodes []*corev1.Node
	for i := range 1000 {
		name := fmt.Sprintf("a-%03d", i)
		claims = append(claims, claim(name, "px://"+name, name, ""))
		nodes = append(nodes, node(name, "px://"+name, name))
	}
	for b.Loop() {
		lifecycle.Pairs(claims, nodes)
	}
}

func TestTheRequestSaysWhetherTheMachineIsKept(t *testing.T) {
	for _, keep := range []bool{false, true} {
		w := newWorld(t, nil)
		w.claim.Spec.Keep = keep
		r := lifecycle.Step(w.claim, lifecycle.Observed{}, start)
		order, ok := r.Effects[len(r.Effects)-1].(lifecycle.Create)
		for !ok {
			r = lifecycle.Step(r.Claim, lifecycle.Observed{}, start)
			order, ok = r.Effects[len(r.Effects)-1].(lifecycle.Create)
		}
		require.Equal(t, keep, order.Request.Keep)
	}
}
