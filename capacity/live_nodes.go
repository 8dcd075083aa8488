package capacity

import (
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// entry is a node with everything counted against it. An entry whose Object is nil is a name that pods are bound to or
// held on, and that no Node was seen for yet.
type entry struct {
	Node
	since  time.Time // when the Node was first seen
	uuid   string    // status.nodeInfo.systemUUID
	pods   map[types.UID]*Pod
	holds  map[types.UID]*hold
	owners map[types.UID]int // pods here by their controller, held ones included
	// closed is set in memory before the intent to release is recorded, so that the filter stops first.
	closed bool
}

func newEntry(name string) *entry {
	return &entry{
		Node: Node{Name: name}, pods: map[types.UID]*Pod{}, holds: map[types.UID]*hold{}, owners: map[types.UID]int{},
	}
}

func (l *Live) entry(name string) *entry {
	e := l.nodes[name]
	if e == nil {
		e = newEntry(name)
		l.nodes[name] = e
	}
	return e
}

// dropIfEmpty forgets a name that nothing refers to.
func (l *Live) dropIfEmpty(e *entry) {
	if e.Object == nil && len(e.pods) == 0 && len(e.holds) == 0 {
		delete(l.nodes, e.Name)
	}
}

// SetNode takes in a Node. Heartbeats change nothing and wake nobody.
func (l *Live) SetNode(node *corev1.Node, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(node.Name)
	slim, allocatable := slimNode(node), ResourcesOf(node.Status.Allocatable)
	uuid := node.Status.NodeInfo.SystemUUID
	if e.Object != nil && e.uuid == uuid && e.Allocatable.Equal(allocatable) && sameNode(e.Object, slim) {
		return
	}
	if e.Object == nil {
		e.since = now
	}
	e.Object, e.Allocatable, e.uuid = slim, allocatable, uuid
	l.settleStage(e)
	l.changed()
}

func sameNode(a, b *corev1.Node) bool {
	return a.Spec.Unschedulable == b.Spec.Unschedulable && a.Spec.ProviderID == b.Spec.ProviderID &&
		maps.Equal(a.Labels, b.Labels) && reflect.DeepEqual(a.Spec.Taints, b.Spec.Taints)
}

// ForgetNode drops a Node that was deleted. Pods that are still bound to its name stay counted against it.
func (l *Live) ForgetNode(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[name]
	if e == nil {
		return
	}
	e.Object, e.Allocatable, e.Daemons, e.Reserved, e.closed = nil, Resources{}, Resources{}, Resources{}, false
	e.Claim, e.Pool, e.Stage = "", "", Open
	l.dropIfEmpty(e)
	l.changed()
}

// settleStage works out whose node this is and where it stands, and what is set aside on it.
func (l *Live) settleStage(e *entry) {
	if e.Object == nil {
		return
	}
	e.Claim, e.Pool, e.Stage = "", e.Object.Labels[v1alpha1.PoolLabel], Open
	claim := l.claims.of(e)
	if claim != nil {
		e.Claim, e.Pool = claim.Name, claim.Spec.Pool
	}
	switch {
	case e.closed, hasTaint(e.Object.Spec.Taints, v1alpha1.ReleasingTaint), claim != nil && Closed(claim):
		e.Stage = Releasing
	case hasTaint(e.Object.Spec.Taints, v1alpha1.StartingTaint), claim != nil && InFlight(claim):
		e.Stage = Starting
	}
	l.setAsideOn(e)
}

// setAsideOn works out the room for DaemonSet pods to come and for the pods a machine was ordered for.
func (l *Live) setAsideOn(e *entry) {
	if e.Object == nil {
		return
	}
	e.Daemons = l.daemonRoom(e)
	e.Reserved = l.reservedRoom(e)
}

func (l *Live) daemonRoom(e *entry) Resources {
	if len(l.daemons) == 0 {
		return Resources{}
	}
	there := map[types.UID]bool{}
	for _, p := range e.pods {
		if p.Daemon() {
			there[p.Owner] = true
		}
	}
	n := &e.Node
	if claim := l.claims.byName[e.Claim]; claim != nil && InFlight(claim) {
		n = withoutStartup(n, claim.Spec.StartupTaints)
	}
	var sum Resources
	for uid, d := range l.daemons {
		if !there[uid] && d.Matches(n) {
			sum.Add(d.Ask.Requests)
		}
	}
	return sum
}

// withoutStartup is the node as it will be once the taints of its start are gone.
func withoutStartup(n *Node, startup []corev1.Taint) *Node {
	c := *n
	object := *n.Object
	object.Spec.Taints = nil
	for _, t := range n.Object.Spec.Taints {
		if !passing(&t) && !hasTaint(startup, t.Key) {
			object.Spec.Taints = append(object.Spec.Taints, t)
		}
	}
	object.Spec.Unschedulable = false
	c.Object = &object
	return &c
}
