package capacity

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity/amount"
)

// choose judges every node offered and picks the best that fits. A refusal by all of them is remembered for the pods
// that ask the same of the same nodes, until a node changes.
func (l *Live) choose(p *Pod, offered []*entry, offer offer) (string, *refused) {
	keeper, company := l.keeper(p.UID), l.companyFor(p)
	homebound := l.homebound(p.UID)
	own := len(l.claimed[keeper.claim]) > 0 || keeper.node != "" || company != nil || homebound || p.Daemon()
	if !own {
		if known := l.refusals.find(p.Ask, offer, l.answers); known != nil {
			return "", known
		}
	}
	var best rank
	whys, table := l.whys[:0], l.opinions.of(p.Ask, l.seats.made)
	for _, e := range offered {
		o, why := l.judge(p, e, table, keeper)
		if why == (Reason{}) && !p.Daemon() && (company.bars(e, keeper.is(e)) || homebound && l.isNew(e)) {
			why = Reason{Code: CodeReserved}
		}
		whys = append(whys, why)
		if why != (Reason{}) {
			continue
		}
		if r := e.rank(p, o, keeper); best.entry == nil || r.before(best) {
			best = r
		}
	}
	l.whys = whys
	if best.entry != nil {
		return best.entry.Name, nil
	}
	r := &refused{
		offer: offer, answers: l.answers, reasons: make([]Reason, l.seats.made), why: commonest(whys), missing: l.missing(),
	}
	for i, e := range offered {
		if e != nil {
			r.reasons[e.seat] = whys[i]
		}
	}
	if !own {
		l.refusals.remember(p.Ask, r)
	}
	return "", r
}

// judge returns what the node is to such pods, where that was asked for, and why the pod cannot go there now; no reason
// when it can.
func (l *Live) judge(p *Pod, e *entry, table []opinion, keeper keeper) (*opinion, Reason) {
	switch {
	case e == nil || e.Object == nil:
		return nil, Reason{Code: CodeUnknownNode}
	// DaemonSet pods belong on starting nodes, since nodes start by them.
	case e.Stage == Starting && !p.Daemon():
		return nil, Reason{Code: CodeStarting}
	case e.Stage == Releasing && !p.Daemon():
		return nil, Reason{Code: CodeReleasing}
	}
	o := &table[e.seat]
	if o.revision != e.revision {
		*o = newOpinion(p.Ask, e)
	}
	switch {
	case o.refused != nil:
		return o, *o.refused
	case e.left.takes(&p.Ask.Requests):
		return o, Reason{}
	}
	free := e.room(p.Ask)
	l.addOwn(&free, p, e, keeper)
	return o, Room(p.Ask, e.Allocatable, free, l.classes).Reason
}

// addOwn gives back to a pod what is set aside on the node for the pod itself.
func (l *Live) addOwn(free *amount.Resources, p *Pod, e *entry, keeper keeper) {
	if keeper.is(e) {
		if known := l.pods[p.UID]; known != nil && e.keepsFor(p.UID) {
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

// missing are the nodes that the scheduler's own filters refused: known, and not in a full call, which is the call of this
// turn.
func (l *Live) missing() sets.Set[string] {
	var out sets.Set[string]
	for name, e := range l.nodes {
		if e.asked == l.turn || e.Object == nil {
			continue
		}
		if out == nil {
			out = sets.Set[string]{}
		}
		out.Insert(name)
	}
	return out
}
