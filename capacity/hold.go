package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// hold is room taken for a pod between the filter's answer and the moment the pod is seen bound. It ends only when the
// pod is seen bound, finished or gone, or when a newer call replaces it.
type hold struct {
	pod   *Pod
	node  string
	since time.Time
	// nominated holds come from status.nominatedNodeName and end with it.
	nominated bool
}

// Hold is a hold, for whoever asks the API server about an old one.
type Hold struct {
	Pod   *Pod
	Node  string
	Since time.Time
}

func (l *Live) hold(p *Pod, node string, nominated bool, now time.Time) {
	l.release(p.UID)
	h := &hold{pod: p, node: node, since: now, nominated: nominated}
	l.holds[p.UID] = h
	e := l.entry(node)
	e.holds[p.UID] = h
	e.Held.Add(p.Ask.Requests)
	if p.Owner != "" {
		e.owners[p.Owner]++
	}
	l.settleReservation(p.UID)
}

// release ends a pod's hold, if it has one.
func (l *Live) release(uid types.UID) {
	h := l.holds[uid]
	if h == nil {
		return
	}
	delete(l.holds, uid)
	e := l.entry(h.node)
	delete(e.holds, uid)
	e.Held.Sub(h.pod.Ask.Requests)
	e.disown(h.pod.Owner)
	l.settleReservation(uid)
	l.dropIfEmpty(e)
}

// settleReservation recounts the node that keeps room for a pod, if any does.
func (l *Live) settleReservation(uid types.UID) {
	claim := l.claims.reserved[uid]
	if claim == nil {
		return
	}
	if e := l.nodes[claim.Status.NodeName]; e != nil && e.Object != nil {
		e.Reserved = l.reservedRoom(e)
	}
}

func (e *entry) disown(owner types.UID) {
	if owner == "" {
		return
	}
	if e.owners[owner]--; e.owners[owner] <= 0 {
		delete(e.owners, owner)
	}
}

// HoldsBefore lists the holds taken before a time, for the loop that asks about them.
func (l *Live) HoldsBefore(t time.Time) []Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	var old []Hold
	for _, h := range l.holds {
		if h.since.Before(t) {
			old = append(old, Hold{Pod: h.pod, Node: h.node, Since: h.since})
		}
	}
	return old
}
