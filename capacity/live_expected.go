package capacity

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Expect keeps room on open nodes for the pods that a plan sends there (FitsNow), by UID, until they have it or the next plan
// says otherwise. A scheduler asks about pods in an order of its own: without this, room that a plan counted for one pod goes
// to another that it counted elsewhere, or for which it found nothing. Only pods that Muster places are expected.
func (l *Live) Expect(plan Plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rooms := map[types.UID]string{}
	l.turns = map[types.UID]int{}
	for turn, uid := range plan.Turns {
		p, o := l.pods[uid], plan.Outcomes[uid]
		if o.Fate == FitsNow && p != nil && l.schedulers.Place.Has(p.Scheduler) {
			rooms[uid], l.turns[uid] = o.Node, turn
		}
	}
	if maps.Equal(l.expected, rooms) {
		return
	}
	touched := map[string]bool{}
	for _, name := range l.expected {
		touched[name] = true
	}
	l.expected = rooms
	byNode := map[string][]types.UID{}
	for uid, name := range rooms {
		touched[name] = true
		byNode[name] = append(byNode[name], uid)
	}
	for name := range touched {
		if e := l.nodes[name]; e != nil {
			e.expects = slices.Sorted(slices.Values(byNode[name]))
			l.setReserved(e)
		}
	}
}

// swap leaves a pod's own place to its twin, if it took the place of one: for the pods that come after them all is as the plan
// has it. Its own room would be anybody's otherwise, and the twin might not be let in beside it.
func (l *Live) swap(p *Pod, node string) {
	own, e := l.expected[p.UID], l.nodes[node]
	if own == "" || own == node || e == nil || l.nodes[own] == nil {
		return
	}
	for _, uid := range e.expects {
		if twin := l.pods[uid]; twin != nil && twin.Pending() && l.holds[uid] == nil && twins(p, twin) {
			l.expected[p.UID], l.expected[uid] = node, own
			l.turns[p.UID], l.turns[uid] = l.turns[uid], l.turns[p.UID]
			l.reexpect(e, uid, p.UID)
			l.reexpect(l.nodes[own], p.UID, uid)
			return
		}
	}
}

// reexpect has a node expect another pod in the place of one.
func (l *Live) reexpect(e *entry, old, fresh types.UID) {
	uids := slices.DeleteFunc(slices.Clone(e.expects), func(uid types.UID) bool { return uid == old })
	e.expects = slices.Sorted(slices.Values(append(uids, fresh)))
	l.setReserved(e)
}

// expectedOn are the pods that the last plan sends to a node, by UID.
func (l *Live) expectedOn(node string) []types.UID {
	var uids []types.UID
	for uid, name := range l.expected {
		if name == node {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// awaited are the pods that are expected on a node and have neither a node nor a hold, but for those listed already.
func (l *Live) awaited(e *entry, listed []*Pod) []*Pod {
	var pods []*Pod
	for _, uid := range e.expects {
		if p := l.pods[uid]; p != nil && p.Pending() && l.holds[uid] == nil && !slices.Contains(listed, p) {
			pods = append(pods, p)
		}
	}
	return pods
}

// settleExpected recounts the node where a pod is expected.
func (l *Live) settleExpected(uid types.UID) {
	if name, ok := l.expected[uid]; ok {
		if e := l.nodes[name]; e != nil {
			l.setReserved(e)
		}
	}
}

// keeper is who keeps room for a pod: a claim, and the node that the last plan sends it to. Either may be empty.
type keeper struct{ claim, node string }

func (l *Live) keeper(uid types.UID) keeper {
	k := keeper{node: l.expected[uid]}
	if c := l.claims.keeper(uid); c != nil {
		k.claim = c.Name
	}
	return k
}

// is says whether this node is where room is kept.
func (k keeper) is(e *entry) bool {
	return k.claim != "" && k.claim == e.Claim || k.node != "" && k.node == e.Name
}

// homeLabels are those of the place where room is kept for a pod; a machine on its way is sure to carry them.
func (l *Live) homeLabels(uid types.UID) map[string]string {
	k := l.keeper(uid)
	for _, e := range append([]*entry{l.nodes[k.node]}, l.claimed[k.claim]...) {
		if e != nil && e.Object != nil {
			return e.Object.Labels
		}
	}
	if a := l.arrivals[k.claim]; a != nil {
		return a.labels
	}
	return nil
}
