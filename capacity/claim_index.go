package capacity

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/identity"
)

// multimap keeps the few values of a key in no order. An empty key has none.
type multimap[K ~string, V comparable] map[K][]V

func (m multimap[K, V]) put(key K, v V) {
	if key != "" && !slices.Contains(m[key], v) {
		m[key] = append(m[key], v)
	}
}

func (m multimap[K, V]) drop(key K, v V) {
	at := slices.Index(m[key], v)
	switch {
	case at < 0:
	case len(m[key]) == 1:
		delete(m, key)
	default:
		m[key] = slices.Delete(m[key], at, at+1)
	}
}

// claimIndex finds claims by name, by what their Nodes report, and by the pods they were ordered for. Nothing in it
// depends on the order in which claims came.
type claimIndex struct {
	byName     map[string]*v1alpha1.NodeClaim
	byProvider multimap[string, *v1alpha1.NodeClaim]
	byUUID     multimap[string, *v1alpha1.NodeClaim]
	byNode     multimap[string, *v1alpha1.NodeClaim]
	byPod      multimap[types.UID, *v1alpha1.NodeClaim] // spec.reserved
	expired    map[types.UID]bool                       // claims whose reservations are over
	version    uint64
}

func newClaimIndex() claimIndex {
	return claimIndex{
		byName: map[string]*v1alpha1.NodeClaim{}, byProvider: multimap[string, *v1alpha1.NodeClaim]{},
		byUUID: multimap[string, *v1alpha1.NodeClaim]{}, byNode: multimap[string, *v1alpha1.NodeClaim]{},
		byPod: multimap[types.UID, *v1alpha1.NodeClaim]{}, expired: map[types.UID]bool{},
	}
}

func (x *claimIndex) put(c *v1alpha1.NodeClaim) {
	x.version++
	x.byName[c.Name] = c
	x.byProvider.put(c.Status.ProviderID, c)
	x.byUUID.put(identity.UUID(c.Status.SystemUUID), c)
	x.byNode.put(identity.NodeName(c), c)
	for _, ref := range c.Spec.Reserved {
		x.byPod.put(ref.UID, c)
	}
}

func (x *claimIndex) drop(c *v1alpha1.NodeClaim) {
	x.version++
	delete(x.byName, c.Name)
	x.byProvider.drop(c.Status.ProviderID, c)
	x.byUUID.drop(identity.UUID(c.Status.SystemUUID), c)
	x.byNode.drop(identity.NodeName(c), c)
	for _, ref := range c.Spec.Reserved {
		x.byPod.drop(ref.UID, c)
	}
}

// of finds a node's claim by the rules of identity.Match: provider ID, then system UUID, then name. A weaker likeness
// counts only where nothing stronger speaks against it, and where two claims fit, none does.
func (x *claimIndex) of(e *entry) *v1alpha1.NodeClaim {
	id := e.Object.Spec.ProviderID
	otherID := func(c *v1alpha1.NodeClaim) bool { return differ(c.Status.ProviderID, id) }
	otherMachine := func(c *v1alpha1.NodeClaim) bool {
		return otherID(c) || differ(identity.UUID(c.Status.SystemUUID), e.uuid)
	}
	if fit := x.byProvider[id]; len(fit) > 0 {
		return only(fit)
	}
	if fit := without(x.byUUID[e.uuid], otherID); len(fit) > 0 {
		return only(fit)
	}
	return only(without(x.byNode[e.Name], otherMachine))
}

func only(claims []*v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	if len(claims) != 1 {
		return nil
	}
	return claims[0]
}

func without(claims []*v1alpha1.NodeClaim, not func(*v1alpha1.NodeClaim) bool) []*v1alpha1.NodeClaim {
	if !slices.ContainsFunc(claims, not) {
		return claims
	}
	return slices.DeleteFunc(slices.Clone(claims), not)
}

// differ says whether both are known and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// keeper is the claim that keeps room for a pod: of the open ones that list it the newest, the first by name among
// equals; nil when there is none or its time is up.
func (x *claimIndex) keeper(uid types.UID) *v1alpha1.NodeClaim {
	var best *v1alpha1.NodeClaim
	for _, c := range x.byPod[uid] {
		if Closed(c) || x.expired[c.UID] {
			continue
		}
		if best == nil || keepsBefore(c, best) {
			best = c
		}
	}
	return best
}

func keepsBefore(a, b *v1alpha1.NodeClaim) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name < b.Name
}
