package lifecycle

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// How says what a Node and its claim have in common.
type How int

// The ways to match, the weakest first.
const (
	NoMatch   How = iota
	Ambiguous     // more than one claim fits; that matches none of them
	ByName
	BySystemUUID
	ByProviderID
)

var howText = [...]string{"none", "ambiguous", "name", "system UUID", "provider ID"}

func (h How) String() string { return howText[h] }

// Index finds the claim of a Node without looking at every claim.
type Index struct {
	byProviderID, byUUID, byName map[string][]*v1alpha1.NodeClaim
}

// NewIndex indexes claims by what their Nodes will report. It keeps the pointers.
func NewIndex(claims []*v1alpha1.NodeClaim) *Index {
	x := &Index{byProviderID: map[string][]*v1alpha1.NodeClaim{}, byUUID: map[string][]*v1alpha1.NodeClaim{},
		byName: map[string][]*v1alpha1.NodeClaim{}}
	for _, c := range claims {
		put(x.byProviderID, c.Status.ProviderID, c)
		put(x.byUUID, strings.ToLower(c.Status.SystemUUID), c)
		put(x.byName, expectedName(c), c)
	}
	return x
}

func put(m map[string][]*v1alpha1.NodeClaim, key string, c *v1alpha1.NodeClaim) {
	if key != "" {
		m[key] = append(m[key], c)
	}
}

// expectedName is the name of the Node that registered, before that the claim's.
func expectedName(c *v1alpha1.NodeClaim) string {
	if c.Status.NodeName != "" {
		return c.Status.NodeName
	}
	return c.Name
}

// Match returns the claim of a Node, nil when there is none or when more than one fits. Provider ID comes before system
// UUID, and that before the name. A weaker likeness counts only where nothing stronger speaks against it.
func (x *Index) Match(node *corev1.Node) (*v1alpha1.NodeClaim, How) {
	for _, by := range []struct {
		claims []*v1alpha1.NodeClaim
		how    How
	}{
		{keyed(x.byProviderID, node.Spec.ProviderID), ByProviderID},
		{keyed(x.byUUID, strings.ToLower(node.Status.NodeInfo.SystemUUID)), BySystemUUID},
		{keyed(x.byName, node.Name), ByName},
	} {
		var fit []*v1alpha1.NodeClaim
		for _, c := range by.claims {
			if !contradicts(c, node, by.how) {
				fit = append(fit, c)
			}
		}
		switch len(fit) {
		case 0:
		case 1:
			return fit[0], by.how
		default:
			return nil, Ambiguous
		}
	}
	return nil, NoMatch
}

func keyed(m map[string][]*v1alpha1.NodeClaim, key string) []*v1alpha1.NodeClaim {
	if key == "" {
		return nil
	}
	return m[key]
}

// contradicts reports whether something stronger than what they have in common says that this is another machine.
func contradicts(c *v1alpha1.NodeClaim, node *corev1.Node, how How) bool {
	if how < ByProviderID && differ(c.Status.ProviderID, node.Spec.ProviderID) {
		return true
	}
	return how < BySystemUUID && differ(strings.ToLower(c.Status.SystemUUID), strings.ToLower(node.Status.NodeInfo.SystemUUID))
}

// differ reports whether both are known and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// Match is Index.Match for a handful of claims.
func Match(claims []*v1alpha1.NodeClaim, node *corev1.Node) (*v1alpha1.NodeClaim, How) {
	return NewIndex(claims).Match(node)
}

// Pair is a Node and what it has in common with its claim.
type Pair struct {
	Node *corev1.Node
	By   How
}

// Pairs matches Nodes to claims, by the claim's name. Of several Nodes of one claim the strongest likeness wins; between
// equals none does and the claim's name is among the ambiguous, as are the Nodes that fit several claims, both sorted.
func Pairs(claims []*v1alpha1.NodeClaim, nodes []*corev1.Node) (pairs map[string]Pair, ambiguousClaims, ambiguousNodes []string) {
	x := NewIndex(claims)
	pairs = make(map[string]Pair, len(claims))
	tied := map[string]How{}
	for _, n := range nodes {
		c, how := x.Match(n)
		if how == Ambiguous {
			ambiguousNodes = append(ambiguousNodes, n.Name)
		}
		if c == nil {
			continue
		}
		switch old, ok := pairs[c.Name]; {
		case !ok || how > old.By:
			pairs[c.Name] = Pair{Node: n, By: how}
		case how == old.By:
			tied[c.Name] = how
		}
	}
	for name, how := range tied {
		if pairs[name].By == how {
			delete(pairs, name)
			ambiguousClaims = append(ambiguousClaims, name)
		}
	}
	slices.Sort(ambiguousClaims)
	slices.Sort(ambiguousNodes)
	return pairs, ambiguousClaims, ambiguousNodes
}
