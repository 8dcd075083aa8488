package capacity

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
)

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
