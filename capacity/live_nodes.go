package capacity

import (
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/provider/identity"
)

// entry is a node with everything counted against it. An entry whose Object is nil is a name that pods are bound to or
// held on, and that no Node was seen for yet.
type entry struct {
	Node
	since  time.Time // when the Node was first seen
	silent time.Time // since when it has been seen silent; zero while it is heard of
	uuid   string    // status.nodeInfo.systemUUID as identity.UUID compares it
	pods   map[types.UID]*Pod
	holds  map[types.UID]*hold
	reservations
	owners map[types.UID]int // pods here by their controller, held ones included
	guests int               // pods here that are not resident
	// closed is set in memory before the intent to release is recorded, so that the filter stops first.
	closed bool
	waning bool // the reaper is about to empty it

	hash     uint64  // of the name
	seat     int     // index into tables with a row for each entry
	revision uint64  // of what pods cannot change: another value, another node
	left     vacancy // what is free, as thaw last counted it
	asked    uint64  // the turn in which a call last offered the node
	next     *entry  // what followed the node when it was last offered
	gone     bool    // l.nodes does not know it any more

	// frozen and listed are what Views show of the node and its pods; nil after a change.
	frozen *Node
	listed []*Pod
}

func (l *Live) entry(name string) *entry {
	e := l.nodes[name]
	if e == nil {
		e = &entry{
			Node: Node{Name: name}, pods: map[types.UID]*Pod{}, holds: map[types.UID]*hold{}, owners: map[types.UID]int{},
			hash: hashOf(name), seat: l.seats.take(), reservations: reservations{expects: l.expectedOn(name)},
		}
		l.nodes[name] = e
	}
	return e
}

// thaw is called after every change of what is known of a node.
func (l *Live) thaw(e *entry) {
	e.frozen = nil
	e.left = e.vacancy()
	l.answers++
}

// vacancy is what is free of the kinds that every pod takes: milli CPU, bytes and pods. It may be negative.
type vacancy struct{ cpu, memory, pods int64 }

// takes says whether a request of these kinds alone has room. Kinds that are not asked for are never short.
func (v *vacancy) takes(r *amount.Resources) bool {
	return r.Pods <= v.pods && (r.MilliCPU <= 0 || r.MilliCPU <= v.cpu) && (r.Memory <= 0 || r.Memory <= v.memory) &&
		r.EphemeralStorage <= 0 && len(r.Scalar) == 0
}

// dropIfEmpty forgets a name that nothing refers to.
func (l *Live) dropIfEmpty(e *entry) {
	if e.Object == nil && len(e.pods) == 0 && len(e.holds) == 0 {
		delete(l.nodes, e.Name)
		delete(l.keeping, e)
		e.gone, e.next = true, nil
		l.seats.give(e.seat)
	}
}

// SetNode takes in a Node. Heartbeats change nothing and wake nobody.
func (l *Live) SetNode(node *corev1.Node, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(node.Name)
	slim, allocatable := slimNode(node), amount.Of(node.Status.Allocatable)
	uuid := identity.UUID(node.Status.NodeInfo.SystemUUID)
	if e.Object != nil && e.uuid == uuid && e.Allocatable.Equal(allocatable) && sameNode(e.Object, slim) {
		return
	}
	if e.Object == nil {
		e.since = now
		l.present++
	} else {
		l.byProvider.drop(e.Object.Spec.ProviderID, e)
		l.byUUID.drop(e.uuid, e)
	}
	e.Object, e.Allocatable, e.uuid = slim, allocatable, uuid
	switch {
	case !Unreachable(slim):
		e.silent = time.Time{}
	case e.silent.IsZero():
		e.silent = now
	}
	l.byProvider.put(slim.Spec.ProviderID, e)
	l.byUUID.put(uuid, e)
	l.settleStage(e)
	l.changed()
}

func sameNode(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable && a.Spec.ProviderID == b.Spec.ProviderID &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && reflect.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

// ForgetNode drops a Node that was deleted. Pods that are still bound to its name stay counted against it.
func (l *Live) ForgetNode(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[name]
	if e == nil || e.Object == nil {
		return
	}
	l.present--
	l.byProvider.drop(e.Object.Spec.ProviderID, e)
	l.byUUID.drop(e.uuid, e)
	l.claimed.drop(e.Claim, e)
	e.Node = Node{Name: name, Used: e.Used, Held: e.Held}
	e.uuid, e.closed, e.silent = "", false, time.Time{}
	l.setReserved(e)
	l.thaw(e)
	l.dropIfEmpty(e)
	l.changed()
}

// settleStage works out whose node this is and where it stands, and what is set aside on it.
func (l *Live) settleStage(e *entry) {
	if e.Object == nil {
		return
	}
	l.claimed.drop(e.Claim, e)
	e.Claim, e.Pool, e.Stage = "", e.Object.Labels[v1alpha1.PoolLabel], Open
	claim := l.claims.of(e)
	if claim != nil {
		e.Claim, e.Pool = claim.Name, claim.Spec.Pool
		l.claimed.put(e.Claim, e)
	}
	switch {
	case e.closed, hasTaint(e.Object.Spec.Taints, v1alpha1.ReleasingTaint), claim != nil && (Closed(claim) || Relaunches(claim)):
		e.Stage = Releasing
	case hasTaint(e.Object.Spec.Taints, v1alpha1.StartingTaint), claim != nil && InFlight(claim):
		e.Stage = Starting
	}
	l.revisions++
	e.revision = l.revisions
	l.thaw(e)
	l.setDaemons(e)
	l.setReserved(e)
}
