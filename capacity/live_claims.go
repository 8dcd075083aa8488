package capacity

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/identity"
)

// SetClaim takes in a claim. An older version than the one known changes nothing: a claim just written is taken in at
// once, and the watch may still deliver what was there before. Nor does a claim that is known to be gone: whoever wrote
// it last may hear of that later than the watch tells of its end, and its machine would be waited for without end.
func (l *Live) SetClaim(c *v1alpha1.NodeClaim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone.Contains(c.UID) {
		return
	}
	old := l.claims.byName[c.Name]
	if old != nil && olderVersion(c, old) {
		return
	}
	if old != nil && old.UID != c.UID {
		l.dropClaim(old.UID)
	}
	l.replaceClaim(old, c)
}

func olderVersion(o, than metav1.Object) bool {
	if o.GetUID() != than.GetUID() {
		created := than.GetCreationTimestamp()
		return new(o.GetCreationTimestamp()).Before(&created)
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), than.GetResourceVersion())
	return err == nil && order < 0
}

// ForgetClaim drops a claim that is gone. Another claim that took over its name stays.
func (l *Live) ForgetClaim(name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone.Add(uid, true)
	if old := l.claims.byName[name]; old != nil && old.UID == uid {
		l.dropClaim(uid)
		l.replaceClaim(old, nil)
	}
}

// replaceClaim puts a claim in the place of its older version, either of which may be nil, and settles every node and
// reservation that either of them touches.
func (l *Live) replaceClaim(old, fresh *v1alpha1.NodeClaim) {
	if old != nil {
		l.claims.drop(old)
	}
	if fresh != nil {
		l.claims.put(fresh)
	}
	l.followArrival(old, fresh)
	touched := map[*entry]bool{}
	l.collectNodes(touched, old)
	l.collectNodes(touched, fresh)
	for e := range touched {
		l.settleStage(e)
	}
	l.settleReservations(old, fresh)
	l.changed()
}

// collectNodes adds the nodes that share anything with a claim by which the two are matched.
func (l *Live) collectNodes(into map[*entry]bool, c *v1alpha1.NodeClaim) {
	if c == nil {
		return
	}
	for _, e := range l.byProvider[c.Status.ProviderID] {
		into[e] = true
	}
	for _, e := range l.byUUID[identity.UUID(c.Status.SystemUUID)] {
		into[e] = true
	}
	if e := l.nodes[identity.NodeName(c)]; e != nil && e.Object != nil {
		into[e] = true
	}
}

// settleReservations recounts the nodes of all claims that list a pod which one of these lists.
func (l *Live) settleReservations(claims ...*v1alpha1.NodeClaim) {
	touched := map[*entry]bool{}
	for _, c := range claims {
		if c == nil {
			continue
		}
		for _, ref := range c.Spec.Reserved {
			for _, rival := range l.claims.byPod[ref.UID] {
				l.settleArrival(rival.Name)
				for _, e := range l.claimed[rival.Name] {
					touched[e] = true
				}
			}
		}
	}
	for e := range touched {
		l.setReserved(e)
	}
}

// ReservationTTL is how long room on a Ready node is kept for pods that do not come.
const ReservationTTL = 2 * time.Minute

// Expire ends the reservations whose time is up and says when the next one ends (zero when none does).
func (l *Live) Expire(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var next time.Duration
	for c := range maps.Values(l.claims.byName) {
		if c.Status.ReadyAt == nil || len(c.Spec.Reserved) == 0 || l.claims.expired[c.UID] {
			continue
		}
		left := c.Status.ReadyAt.Add(ReservationTTL).Sub(now)
		if left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		l.claims.expired[c.UID] = true
		l.settleReservations(c)
		l.changed()
	}
	return next
}

// dropClaim forgets what was noted of a claim that is gone.
func (l *Live) dropClaim(uid types.UID) {
	delete(l.claims.expired, uid)
	delete(l.took, uid)
}

// noteTaken notes that a claim's node took a pod of a kind that it was ordered for.
func (l *Live) noteTaken(p *Pod) {
	e := l.nodes[p.Node]
	if e == nil || e.Claim == "" {
		return
	}
	c := l.claims.byName[e.Claim]
	if c == nil || len(c.Spec.OrderedFor) == 0 {
		return
	}
	if key := PodsKey(p.Ask); slices.Contains(c.Spec.OrderedFor, key) && !slices.Contains(l.took[c.UID], key) {
		l.took[c.UID] = append(l.took[c.UID], key)
	}
}
