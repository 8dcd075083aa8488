package capacity

import (
	"slices"
	"strings"
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
	// promised is the number of a Promise, in their order; 0 for other holds.
	promised uint64
}

// unasked says whether the scheduler does not count with the pod yet: its room was named or promised to it, and the filter
// was not asked about it since.
func (h *hold) unasked() bool { return h.nominated || h.promised > 0 }

// Hold is a hold, for whoever asks the API server about an old one.
type Hold struct {
	Pod   *Pod
	Node  string
	Since time.Time
}

// hold takes room for a pod in the place of any older hold. A pod with a hold is no shortfall.
func (l *Live) hold(h *hold) {
	p := h.pod
	l.release(p.UID)
	l.holds[p.UID] = h
	l.countUnasked(h, 1)
	e := l.entry(h.node)
	e.holds[p.UID] = h
	e.Held.Add(p.Ask.Requests)
	l.thaw(e)
	l.own(e, p)
	l.ledger.withdraw(p.UID)
	l.settleReservation(p.UID, e)
	l.moves++
}

// release ends a pod's hold, if it has one, and returns it.
func (l *Live) release(uid types.UID) *hold {
	h := l.holds[uid]
	if h == nil {
		return nil
	}
	delete(l.holds, uid)
	l.countUnasked(h, -1)
	e := l.entry(h.node)
	delete(e.holds, uid)
	e.Held.Sub(h.pod.Ask.Requests)
	l.thaw(e)
	l.disown(e, h.pod)
	l.settleReservation(uid, e)
	l.dropIfEmpty(e)
	l.moves++
	return h
}

// countUnasked counts a hold whose pod is still to come, or no longer where n is -1.
func (l *Live) countUnasked(h *hold, n int) {
	if !h.unasked() {
		return
	}
	if h.pod.shy() {
		l.shy += n
	}
	if delete(l.unasked, h.pod.UID); n > 0 {
		l.unasked[h.pod.UID] = h
	}
}

// own counts a pod by its controller; the room of a DaemonSet's pod is set aside until the pod is there.
func (l *Live) own(e *entry, p *Pod) {
	if p.Owner == "" {
		return
	}
	e.owners[p.Owner]++
	if p.Daemon() {
		l.setDaemons(e)
	}
}

func (l *Live) disown(e *entry, p *Pod) {
	if p.Owner == "" {
		return
	}
	if e.owners[p.Owner]--; e.owners[p.Owner] <= 0 {
		delete(e.owners, p.Owner)
	}
	if p.Daemon() {
		l.setDaemons(e)
	}
}

// HoldsBefore lists the holds taken before a time, the oldest first, for the loop that asks about them.
func (l *Live) HoldsBefore(t time.Time) []Hold {
	l.mu.Lock()
	defer l.mu.Unlock()
	var old []Hold
	for _, h := range l.holds {
		if h.since.Before(t) {
			old = append(old, Hold{Pod: h.pod, Node: h.node, Since: h.since})
		}
	}
	slices.SortFunc(old, func(a, b Hold) int {
		if order := a.Since.Compare(b.Since); order != 0 {
			return order
		}
		return strings.Compare(string(a.Pod.UID), string(b.Pod.UID))
	})
	return old
}
