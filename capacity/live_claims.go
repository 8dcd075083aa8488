package capacity

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// claimIndex finds the claim of a node: by provider id, then system UUID, then name.
type claimIndex struct {
	byName     map[string]*v1alpha1.NodeClaim
	byProvider map[string]*v1alpha1.NodeClaim
	byUUID     map[string]*v1alpha1.NodeClaim
	byNode     map[string]*v1alpha1.NodeClaim
	reserved   map[types.UID]*v1alpha1.NodeClaim // pod -> the claim that keeps room for it
	version    uint64
}

func newClaimIndex() claimIndex {
	return claimIndex{
		byName: map[string]*v1alpha1.NodeClaim{}, byProvider: map[string]*v1alpha1.NodeClaim{},
		byUUID: map[string]*v1alpha1.NodeClaim{}, byNode: map[string]*v1alpha1.NodeClaim{},
		reserved: map[types.UID]*v1alpha1.NodeClaim{},
	}
}

// of finds a node's claim by what the claim's status already says of the node or its machine. A node of another
// provider id is never taken for the claim's.
func (x *claimIndex) of(e *entry) *v1alpha1.NodeClaim {
	if id := e.Object.Spec.ProviderID; id != "" {
		if c := x.byProvider[id]; c != nil {
			return c
		}
	}
	c := x.byNode[e.Name]
	if c == nil && e.uuid != "" {
		c = x.byUUID[strings.ToLower(e.uuid)]
	}
	if c == nil {
		return nil
	}
	if id := e.Object.Spec.ProviderID; id != "" && c.Status.ProviderID != "" && id != c.Status.ProviderID {
		return nil
	}
	return c
}

func (x *claimIndex) put(c *v1alpha1.NodeClaim) {
	x.version++
	x.byName[c.Name] = c
	set(x.byProvider, c.Status.ProviderID, c)
	set(x.byUUID, strings.ToLower(c.Status.SystemUUID), c)
	set(x.byNode, c.Status.NodeName, c)
	for _, ref := range c.Spec.Reserved {
		x.reserved[ref.UID] = c
	}
}

func (x *claimIndex) drop(c *v1alpha1.NodeClaim) {
	x.version++
	delete(x.byName, c.Name)
	unset(x.byProvider, c.Status.ProviderID, c)
	unset(x.byUUID, strings.ToLower(c.Status.SystemUUID), c)
	unset(x.byNode, c.Status.NodeName, c)
	for _, ref := range c.Spec.Reserved {
		unset(x.reserved, ref.UID, c)
	}
}

func set[K ~string](m map[K]*v1alpha1.NodeClaim, key K, c *v1alpha1.NodeClaim) {
	if key != "" {
		m[key] = c
	}
}

func unset[K ~string](m map[K]*v1alpha1.NodeClaim, key K, c *v1alpha1.NodeClaim) {
	if m[key] == c {
		delete(m, key)
	}
}

// SetClaim takes in a claim. An older version than the one known changes nothing: a claim just written is taken in at
// once, and the watch may still deliver what was there before.
func (l *Live) SetClaim(c *v1alpha1.NodeClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.claims.byName[c.Name]; old != nil {
		if olderVersion(c, old) {
			return
		}
		l.claims.drop(old)
	}
	l.claims.put(c)
	l.settleClaimNodes()
	l.changed()
}

func olderVersion(c, than *v1alpha1.NodeClaim) bool {
	if c.UID != than.UID {
		return c.CreationTimestamp.Before(&than.CreationTimestamp)
	}
	order, err := resourceversion.CompareResourceVersion(c.ResourceVersion, than.ResourceVersion)
	return err == nil && order < 0
}

// ForgetClaim drops a claim that is gone. Another claim that took over its name stays.
func (l *Live) ForgetClaim(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.claims.byName[name]; old != nil && old.UID == uid {
		l.claims.drop(old)
		delete(l.expired, old.UID)
		l.settleClaimNodes()
		l.changed()
	}
}

// settleClaimNodes looks again at every node that is, or may have become, a claim's.
func (l *Live) settleClaimNodes() {
	for _, e := range l.nodes {
		if e.Object != nil && (e.Claim != "" || l.claims.of(e) != nil) {
			l.settleStage(e)
		}
	}
}

// ReservationTTL is how long room on a Ready node is kept for pods that do not come.
const ReservationTTL = 2 * time.Minute

// reservedRoom is what the pods of the node's claim will take that are neither bound nor held.
func (l *Live) reservedRoom(e *entry) Resources {
	var sum Resources
	claim := l.claims.byName[e.Claim]
	if claim == nil {
		return sum
	}
	for _, ref := range claim.Spec.Reserved {
		if p := l.pods[ref.UID]; p != nil && l.waitsFor(p, claim) {
			sum.Add(p.Ask.Requests)
		}
	}
	return sum
}

// waitsFor says whether a claim still keeps room for a pod.
func (l *Live) waitsFor(p *Pod, claim *v1alpha1.NodeClaim) bool {
	return p.Pending() && l.holds[p.UID] == nil && l.claims.reserved[p.UID] == claim && !l.expired[claim.UID]
}

// Expire ends the reservations whose time is up and says when the next one ends (zero when none does).
func (l *Live) Expire(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var next time.Duration
	for _, c := range l.claims.byName {
		if c.Status.ReadyAt == nil || len(c.Spec.Reserved) == 0 || l.expired[c.UID] {
			continue
		}
		left := c.Status.ReadyAt.Add(ReservationTTL).Sub(now)
		if left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		l.expired[c.UID] = true
		if e := l.nodes[c.Status.NodeName]; e != nil {
			l.setAsideOn(e)
		}
		l.changed()
	}
	return next
}
