package capacity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Call is one filter call of a place scheduler: the pod and the nodes that its own filters left.
type Call struct {
	// Number rises with the order of arrival; a call is superseded by a newer one for the same pod.
	Number uint64
	// Pod is what Known or Compile made of the pod.
	Pod   *Pod
	Nodes []string
	Now   time.Time
}

// Placement is the answer: one node, held for the pod, or a reason for each node offered, in their order. Of more than
// MaxReasons nodes only the first have one.
type Placement struct {
	Node    string
	Refused []Reason
}

// MaxReasons bounds how many nodes are given a reason. A node that is neither passed nor given one counts as refused, and
// reading thousands of copies of one sentence costs the scheduler more than all the rest of the call.
const MaxReasons = 1000

// ErrSuperseded: a newer call for the same pod was seen; the scheduler no longer waits for this answer.
var ErrSuperseded = errors.New("superseded by a newer call for this pod")

// ErrSettled: the pod is known to be bound, finished or gone; the scheduler no longer waits for this answer either.
var ErrSettled = fmt.Errorf("the pod is bound, finished or gone: %w", ErrSuperseded)

// ErrNoUID: a pod without a UID cannot be told from others.
var ErrNoUID = errors.New("the pod has no UID")

// Place chooses a node for a pod and holds its room, or records the shortfall. The hold is committed last, and only
// while ctx lives and no newer call for this pod was seen. A call that offers a node twice is an OfferError.
func (l *Live) Place(ctx context.Context, call Call) (Placement, error) {
	p := call.Pod
	if p.UID == "" {
		return Placement{}, ErrNoUID
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	offered, offer, err := l.seat(call.Nodes)
	if err != nil {
		return Placement{}, err
	}
	if !l.calls.arrive(p.UID, call.Number) {
		return Placement{}, ErrSuperseded
	}
	l.heard = call.Now
	l.pulse.beat(call.Now)
	if l.settled(p.UID) {
		return Placement{}, ErrSettled
	}
	if p.Ask.Unjudged.Code == CodeSchedulingGroup {
		return Placement{Refused: refuseAll(call.Nodes, p.Ask.Unjudged)}, nil
	}
	node, no := l.due(p.UID), (*refused)(nil)
	older := l.release(p.UID)
	if node == "" {
		node, no = l.choose(p, offered, offer)
	}
	if node == "" && !l.provided(p.UID) {
		node = l.takeOver(p, offered)
	}
	if err := ctx.Err(); err != nil {
		if older != nil {
			l.hold(older)
		}
		return Placement{}, err
	}
	if node != "" {
		l.hold(&hold{pod: p, node: node, since: call.Now})
		l.swap(p, node)
		l.changed()
		return Placement{Node: node}, nil
	}
	if older != nil && older.promised > 0 {
		l.hold(older) // its room is on its way
		return Placement{Refused: no.named(offered)}, nil
	}
	if l.recordShortfall(p, call, no) || older != nil {
		l.changed()
	}
	return Placement{Refused: no.named(offered)}, nil
}

// settled says whether a pod no longer waits for a node, so that a hold for it would never end.
func (l *Live) settled(uid types.UID) bool {
	if p := l.pods[uid]; p != nil {
		return p.Node != "" || p.Finished
	}
	return l.gone.Contains(uid)
}

func refuseAll(nodes []string, why Reason) []Reason {
	return slices.Repeat([]Reason{why}, min(len(nodes), MaxReasons))
}

// recordShortfall records a pod that no node of a full call took, and says whether that is news. A call for one node out
// of many proves nothing: the scheduler tries a nominated node, or the node of a pod just like this one, before it asks
// about all.
func (l *Live) recordShortfall(p *Pod, call Call, r *refused) bool {
	if known := l.pods[p.UID]; known != nil {
		if !known.Pending() {
			return false
		}
		if known.Ask.Signature == p.Ask.Signature {
			p = known
		}
	}
	if len(call.Nodes) == 1 && l.present > 1 {
		return false
	}
	news := l.ledger.called(p, r.missing, r.why, call.Now)
	if s := l.ledger.byPod[p.UID]; s != nil {
		s.moves = l.moves
	}
	return news
}

// Held says where a pod is held; empty when it is not.
func (l *Live) Held(uid types.UID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.holds[uid]; h != nil {
		return h.node
	}
	return ""
}
