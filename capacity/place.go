package capacity

import (
	"context"
	"errors"
	"hash/maphash"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
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

// cachedRefusal is an answer "no node", valid for one generation and one list of nodes.
type cachedRefusal struct {
	generation uint64
	nodes      uint64
	refused    map[string]Reason
	why        Reason
}

// Place chooses a node for a pod and holds its room, or records the shortfall. The hold is committed last, and only
// while ctx lives and no newer call for this pod was seen.
func (l *Live) Place(ctx context.Context, call Call) (Placement, error) {
	ask := l.asks.Ask(call.Pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.calls.arrive(call.Pod.UID, call.Number) {
		return Placement{}, ErrSuperseded
	}
	p := newPod(call.Pod, ask)
	if ask.Unjudged.Code == CodeSchedulingGroup {
		return Placement{Refused: refuseAll(call.Nodes, ask.Unjudged)}, nil
	}
	l.release(p.UID)
	node, refused, why := l.choose(p, call.Nodes)
	if err := ctx.Err(); err != nil {
		return Placement{}, err
	}
	if node != "" {
		l.ledger.withdraw(p.UID)
		l.hold(p, node, false, call.Now)
		l.changed()
		return Placement{Node: node}, nil
	}
	l.recordShortfall(p, call, why)
	return Placement{Refused: refused}, nil
}

func refuseAll(nodes []string, why Reason) map[string]Reason {
	refused := make(map[string]Reason, len(nodes))
	for _, name := range nodes {
		refused[name] = why
	}
	return refused
}

// choose judges every node offered and picks the best that fits. A refusal by all of them is remembered for the pods
// that ask the same of the same nodes, until anything changes.
func (l *Live) choose(p *Pod, nodes []string) (string, map[string]Reason, Reason) {
	claim := l.claims.reserved[p.UID]
	key := nodesKey(nodes)
	if known, ok := l.refusals[p.Ask.Signature]; ok && claim == nil &&
		known.generation == l.generation && known.nodes == key {
		return "", known.refused, known.why
	}
	var best rank
	refused := make(map[string]Reason)
	for _, name := range nodes {
		e := l.nodes[name]
		v := l.judge(p, e)
		if !v.Fits {
			refused[name] = v.Reason
			continue
		}
		if r := l.rank(p, e); best.entry == nil || r.before(best) {
			best = r
		}
	}
	if best.entry != nil {
		return best.entry.Name, nil, Reason{}
	}
	why := commonest(refused)
	if claim == nil {
		l.remember(p.Ask.Signature, cachedRefusal{l.generation, key, refused, why})
	}
	return "", refused, why
}

// remember keeps the cache as small as the number of signatures that wait.
func (l *Live) remember(signature string, r cachedRefusal) {
	if len(l.refusals) >= rememberedAsks {
		clear(l.refusals)
	}
	l.refusals[signature] = r
}

var nodesSeed = maphash.MakeSeed()

func nodesKey(nodes []string) uint64 {
	var h maphash.Hash
	h.SetSeed(nodesSeed)
	for _, name := range nodes {
		h.WriteString(name)
		h.WriteByte(0)
	}
	return h.Sum64()
}

func (l *Live) judge(p *Pod, e *entry) Verdict {
	switch {
	case e == nil || e.Object == nil:
		return refusal(CodeUnknownNode, "")
	case e.Stage == Starting:
		return refusal(CodeStarting, "")
	case e.Stage == Releasing:
		return refusal(CodeReleasing, "")
	}
	if v := Admits(p.Ask, &e.Node); !v.Fits {
		return v
	}
	return Room(p.Ask, e.Allocatable, l.freeFor(p, e), l.classes)
}

// freeFor is the node's room for this pod: what is reserved for the pod itself is its own.
func (l *Live) freeFor(p *Pod, e *entry) Resources {
	free := e.Free()
	if claim := l.claims.reserved[p.UID]; claim != nil && claim.Name == e.Claim {
		if known := l.pods[p.UID]; known != nil && l.waitsFor(known, claim) {
			free.Add(known.Ask.Requests)
		}
	}
	return free
}

// commonest is the reason on most nodes, the first by text among equals.
func commonest(refused map[string]Reason) Reason {
	counts := map[Reason]int{}
	for _, r := range refused {
		counts[r]++
	}
	var best Reason
	for r, n := range counts {
		if n > counts[best] || n == counts[best] && r.String() < best.String() {
			best = r
		}
	}
	return best
}

// recordShortfall records a pod that no node of a full call took. A call for one node out of many proves nothing: the
// scheduler tries a nominated node, or the node of a pod just like this one, before it asks about all.
func (l *Live) recordShortfall(p *Pod, call Call, why Reason) {
	if known := l.pods[p.UID]; known != nil && !known.Pending() {
		return
	}
	if len(call.Nodes) == 1 && l.openNodes() > 1 {
		return
	}
	if l.ledger.called(p, l.missing(call.Nodes), why, call.Now) {
		l.changed()
	}
}

func (l *Live) openNodes() int {
	count := 0
	for _, e := range l.nodes {
		if e.Object != nil {
			count++
		}
	}
	return count
}

// missing are the nodes that the scheduler's own filters refused: known, and not in a full call.
func (l *Live) missing(offered []string) sets.Set[string] {
	if len(offered) >= l.openNodes() {
		return nil
	}
	in := sets.New(offered...)
	out := sets.Set[string]{}
	for name, e := range l.nodes {
		if e.Object != nil && !in.Has(name) {
			out.Insert(name)
		}
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
