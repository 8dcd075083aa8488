package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Promise holds room on a node for a pending pod, although those who are to leave it have not left yet: nobody else is
// sent there for that room. Unlike another hold it outlives calls that find no node for the pod. It ends when the pod is
// held elsewhere, bound, finished or gone, or with Unpromise. Promise refuses where the pod does not wait, holds room
// already, or the node takes no pods.
func (l *Live) Promise(uid types.UID, node string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, e := l.pods[uid], l.nodes[node]
	if p == nil || !p.Pending() || l.holds[uid] != nil || e == nil || e.Object == nil || e.Stage != Open {
		return false
	}
	l.promises++
	l.hold(&hold{pod: p, node: node, since: now, promised: l.promises})
	l.changed()
	return true
}

// Unpromise ends a promise; the pod lacks room again.
func (l *Live) Unpromise(uid types.UID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holds[uid]; h == nil || h.promised == 0 {
		return
	}
	l.release(uid)
	if p := l.pods[uid]; p != nil && p.Pending() && l.schedulers.Ours(p.Scheduler) {
		l.ledger.watched(p, now)
	}
	l.changed()
}

// Promised says on which node a pod was promised room, and what still stands in the way there: the zero Reason when the
// filter would offer it. The node is empty when there is no promise any more.
func (l *Live) Promised(uid types.UID) (node string, why Reason) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.holds[uid]
	if h == nil || h.promised == 0 {
		return "", Reason{}
	}
	return h.node, l.inTheWay(h)
}

// due is the node promised to a pod, if the call of this turn offers it and the room is there.
func (l *Live) due(uid types.UID) string {
	h := l.holds[uid]
	if h == nil || h.promised == 0 || l.nodes[h.node].asked != l.turn || l.inTheWay(h).Code != "" {
		return ""
	}
	return h.node
}

// inTheWay is why the filter would not offer a promised node. Promises that were made later are for what others leave: the
// room that is there already goes by the order of the promises.
func (l *Live) inTheWay(h *hold) Reason {
	e := l.nodes[h.node]
	switch {
	case e.Object == nil:
		return Reason{Code: CodeUnknownNode}
	case e.Stage == Starting:
		return Reason{Code: CodeStarting}
	case e.Stage == Releasing:
		return Reason{Code: CodeReleasing}
	}
	free := e.room(h.pod.Ask)
	for _, o := range e.holds {
		if o.promised >= h.promised {
			free.Add(o.pod.Ask.Requests)
		}
	}
	return Fit(h.pod.Ask, &e.Node, free, l.classes).Reason
}

// WasNominated says whether a pod that is there was ever seen with status.nominatedNodeName, whoever wrote it.
func (l *Live) WasNominated(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nominated[uid]
}

// EndNomination ends the hold that a pod has by its nomination alone, as long as no scheduler asked about the pod since;
// the pod lacks room again. It is for nominations that were written by this process: one of an earlier life may be about to
// be bound.
func (l *Live) EndNomination(uid types.UID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holds[uid]; h == nil || !h.nominated {
		return
	}
	l.release(uid)
	if p := l.pods[uid]; p != nil && p.Pending() && l.schedulers.Ours(p.Scheduler) {
		l.ledger.watched(p, now)
	}
	l.changed()
}

// Naming says that this process is about to nominate a node for a pod: the nomination is no sign of answers from elsewhere.
func (l *Live) Naming(uid types.UID, node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.naming[uid] = node
}
