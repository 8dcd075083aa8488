package identity

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
		put(x.byUUID, UUID(c.Status.SystemUUID), c)
		put(x.byName, NodeName(c), c)
	}
	return x
}

func put(m map[string][]*v1alpha1.NodeClaim, key string, c *v1alpha1.NodeClaim) {
	if key != "" {
		m[key] = append(m[key], c)
	}
}

// Match returns the claim of a Node, nil when there is none or when more than one fits. Provider ID comes before system
// UUID, and that before the name. A weaker likeness counts only where nothing stronger speaks against it.
func (x *Index) Match(node *corev1.Node) (*v1alpha1.NodeClaim, How) {
	for _, by := range []struct {
		claims []*v1alpha1.NodeClaim
		how    How
	}{
		{keyed(x.byProviderID, node.Spec.ProviderID), ByProviderID},
		{keyed(x.byUUID, UUID(node.Status.NodeInfo.SystemUUID)), BySystemUUID},
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
	return how < BySystemUUID && differ(UUID(c.Status.SystemUUID), UUID(node.Status.NodeInfo.SystemUUID))
}

// Match is Index.Match for a handful of claims.
func Match(claims []*v1alpha1.NodeClaim, node *corev1.Node) (*v1alpha1.NodeClaim, How) {
	return NewIndex(claims).Match(node)
}

// CouldBe says what a Node and a claim's machine have in common, with what people read; NoMatch when nothing. It is meant for what must
// not be overlooked, so one likeness is enough, and several Nodes can be one machine: a kubelet that registers under another name
// leaves the old Node behind. A weaker likeness counts for nothing where the provider ID or the system UUID says that it is another
// machine, unless the Node is the one that was recorded or has its name: pods are bound to names.
func CouldBe(c *v1alpha1.NodeClaim, node *corev1.Node) (How, string) {
	st := &c.Status
	otherID := differ(st.ProviderID, node.Spec.ProviderID)
	otherUUID := differ(UUID(st.SystemUUID), UUID(node.Status.NodeInfo.SystemUUID))
	switch {
	case st.ProviderID != "" && node.Spec.ProviderID == st.ProviderID:
		return ByProviderID, "it has the machine's provider ID"
	case !otherID && UUID(st.SystemUUID) != "" && !otherUUID && UUID(node.Status.NodeInfo.SystemUUID) != "":
		return BySystemUUID, "it has the machine's system UUID"
	case st.NodeUID != "" && node.UID == st.NodeUID:
		return ByName, "it is the Node that registered"
	case st.NodeName != "" && node.Name == st.NodeName:
		return ByName, "it has the name of the Node that registered"
	case otherID || otherUUID:
		return NoMatch, ""
	case c.UID != "" && node.Annotations[v1alpha1.RegisteredAnnotation] == string(c.UID):
		return ByName, "it carries the claim's UID"
	case node.Labels[v1alpha1.ClaimLabel] == c.Name && node.Annotations[v1alpha1.RegisteredAnnotation] == "":
		return ByName, "it carries the claim's label"
	case node.Name == NodeName(c):
		return ByName, "it has the name that the machine was to have"
	}
	return NoMatch, ""
}

// Candidate is a Node that could be a claim's machine.
type Candidate struct {
	Node *corev1.Node
	How  How
	Why  string
	// Others are the claims, by name, of whose machines it could be as well as of this one's.
	Others []string
}

// Candidates are all Nodes that could be the machine of a claim, sorted by name. A Node that is more like another claim's machine is
// that one's; one that is as much like it is ambiguous, and says of which others.
func Candidates(c *v1alpha1.NodeClaim, claims []*v1alpha1.NodeClaim, nodes []*corev1.Node) []Candidate {
	var found []Candidate
	for _, n := range nodes {
		how, why := CouldBe(c, n)
		if how == NoMatch {
			continue
		}
		candidate, others := Candidate{Node: n, How: how, Why: why}, false
		for _, o := range claims {
			if o.UID == c.UID {
				continue
			}
			switch by, _ := CouldBe(o, n); {
			case by > how:
				others = true
			case by == how:
				candidate.Others = append(candidate.Others, o.Name)
			}
		}
		if !others || n.UID == c.Status.NodeUID && n.UID != "" {
			slices.Sort(candidate.Others)
			found = append(found, candidate)
		}
	}
	slices.SortFunc(found, func(a, b Candidate) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return found
}
