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
	l.hold(&hold{pod: p, node: node, since: now, promised: true})
	l.changed()
	return true
}

// Unpromise ends a promise; the pod lacks room again.
func (l *Live) Unpromise(uid types.UID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holds[uid]; h == nil || !h.promised {
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
	if h == nil || !h.promised {
		return "", Reason{}
	}
	e := l.nodes[h.node]
	switch {
	case e.Object == nil:
		return h.node, Reason{Code: CodeUnknownNode}
	case e.Stage == Starting:
		return h.node, Reason{Code: CodeStarting}
	case e.Stage == Releasing:
		return h.node, Reason{Code: CodeReleasing}
	}
	free := e.room(h.pod.Ask)
	free.Add(h.pod.Ask.Requests)
	return h.node, Fit(h.pod.Ask, &e.Node, free, l.classes).Reason
}
