package capacity

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Call is one filter call of a place scheduler: the pod and the nodes that its own filters left.
type Call struct {
	// Number rises with the order of arrival; a call is superseded by a newer one for the same pod.
	Number uint64
	Pod    *corev1.Pod
	Nodes  []string
	Now    time.Time
}

// Placement is the answer: one node, held for the pod, or a reason for every node offered.
type Placement struct {
	Node    string
	Refused map[string]Reason
}

// ErrSuperseded: a newer call for the same pod was seen; the scheduler no longer waits for this answer.
var ErrSuperseded = errors.New("superseded by a newer call for this pod")

// ErrSettled: the pod is known to be bound, finished or gone; the scheduler no longer waits for this answer either.
var ErrSettled = fmt.Errorf("the pod is bound, finished or gone: %w", ErrSuperseded)

// ErrNoUID: a pod without a UID cannot be told from others.
var ErrNoUID = errors.New("the pod has no UID")

// Place chooses a node for a pod and holds its room, or records the shortfall. The hold is committed last, and only
// while ctx lives and no newer call for this pod was seen. The answer shares its map with others: do not change it.
func (l *Live) Place(ctx context.Context, call Call) (Placement, error) {
	if call.Pod.UID == "" {
		return Placement{}, ErrNoUID
	}
	ask := l.asks.Ask(call.Pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.calls.arrive(call.Pod.UID, call.Number) {
		return Placement{}, ErrSuperseded
	}
	l.heard = call.Now
	if l.settled(call.Pod.UID) {
		return Placement{}, ErrSettled
	}
	p := newPod(call.Pod, ask)
	if ask.Unjudged.Code == CodeSchedulingGroup {
		return Placement{Refused: refuseAll(call.Nodes, ask.Unjudged)}, nil
	}
	older := l.release(p.UID)
	node, no := l.choose(p, call.Nodes)
	if err := ctx.Err(); err != nil {
		if older != nil {
			l.hold(older)
		}
		return Placement{}, err
	}
	if node != "" {
		l.hold(&hold{pod: p, node: node, since: call.Now})
		l.changed()
		return Placement{Node: node}, nil
	}
	if l.recordShortfall(p, call, no) || older != nil {
		l.changed()
	}
	return Placement{Refused: no.reasons}, nil
}

// settled says whether a pod no longer waits for a node, so that a hold for it would never end.
func (l *Live) settled(uid types.UID) bool {
	if p := l.pods[uid]; p != nil {
		return p.Node != "" || p.Finished
	}
	return l.gone.Contains(uid)
}

func refuseAll(nodes []string, why Reason) map[string]Reason {
	refused := make(map[string]Reason, len(nodes))
	for _, name := range nodes {
		refused[name] = why
	}
	return refused
}

// choose judges every node offered and picks the best that fits. A refusal by all of them is remembered for the pods
// that ask the same of the same nodes, until a node changes.
func (l *Live) choose(p *Pod, nodes []string) (string, *refused) {
	keeper := l.claims.keeper(p.UID)
	own := keeper != nil && len(l.claimed[keeper.Name]) > 0 || p.Daemon()
	offer := offerOf(nodes)
	if !own {
		if known := l.refusals.find(p.Ask, offer, l.answers); known != nil {
			return "", known
		}
	}
	var best rank
	whys := l.whys[:0]
	for _, name := range nodes {
		e := l.nodes[name]
		v := l.judge(p, e, keeper)
		whys = append(whys, v.Reason)
		if !v.Fits {
			continue
		}
		if r := e.rank(p, keeper); best.entry == nil || r.before(best) {
			best = r
		}
	}
	l.whys = whys
	if best.entry != nil {
		return best.entry.Name, nil
	}
	reasons := l.reasons(nodes, whys)
	r := &refused{offer: offer, answers: l.answers, reasons: reasons, why: commonest(whys), missing: l.missing(reasons)}
	if !own {
		l.refusals.remember(p.Ask, r)
	}
	return "", r
}

// reasons puts reasons to their nodes. Names are taken from the view where it has them: those of a call share one long
// text, which a remembered refusal would keep.
func (l *Live) reasons(nodes []string, whys []Reason) map[string]Reason {
	reasons := make(map[string]Reason, len(nodes))
	for i, name := range nodes {
		if e := l.nodes[name]; e != nil {
			name = e.Name
		}
		reasons[name] = whys[i]
	}
	return reasons
}

func (l *Live) judge(p *Pod, e *entry, keeper *v1alpha1.NodeClaim) Verdict {
	switch {
	case e == nil || e.Object == nil:
		return refusal(CodeUnknownNode, "")
	// DaemonSet pods belong on starting nodes, since nodes start by them.
	case e.Stage == Starting && !p.Daemon():
		return refusal(CodeStarting, "")
	case e.Stage == Releasing && !p.Daemon():
		return refusal(CodeReleasing, "")
	}
	if v := Admits(p.Ask, &e.Node); !v.Fits {
		return v
	}
	free := e.room(p.Ask)
	l.addOwn(&free, p, e, keeper)
	return Room(p.Ask, e.Allocatable, free, l.classes)
}

// addOwn gives back to a pod what is set aside on the node for the pod itself.
func (l *Live) addOwn(free *Resources, p *Pod, e *entry, keeper *v1alpha1.NodeClaim) {
	if keeper != nil && keeper.Name == e.Claim {
		if known := l.pods[p.UID]; known != nil && l.waitsFor(known, keeper) {
			free.Add(known.Ask.Requests)
		}
	}
	if !p.Daemon() || e.owners[p.Owner] > 0 {
		return
	}
	if d := l.daemons[p.Owner]; d != nil && d.Matches(l.started(e)) {
		free.Add(d.Ask.Requests)
	}
}

// commonest is the reason of most nodes, the first by text among equals.
func commonest(whys []Reason) Reason {
	counts := map[Reason]int{}
	run := 0
	for i, r := range whys {
		run++
		if i+1 < len(whys) && whys[i+1] == r {
			continue // neighbours often share a reason, and counting them together is cheap
		}
		counts[r] += run
		run = 0
	}
	var best Reason
	for r, n := range counts {
		if n > counts[best] || n == counts[best] && r.String() < best.String() {
			best = r
		}
	}
	return best
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
	return l.ledger.called(p, r.missing, r.why, call.Now)
}

// missing are the nodes that the scheduler's own filters refused: known, and not in a full call.
func (l *Live) missing(offered map[string]Reason) sets.Set[string] {
	var out sets.Set[string]
	for name, e := range l.nodes {
		if _, in := offered[name]; in || e.Object == nil {
			continue
		}
		if out == nil {
			out = sets.Set[string]{}
		}
		out.Insert(name)
	}
	return out
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
