package capacity

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// reservations is what a node keeps for the pods that its claim lists and that are neither bound nor held.
type reservations struct {
	kept   []*Pod
	lowest int32 // the lowest priority among them
	// ousted pods are listed, and others took their room: those of higher priority may.
	ousted []types.UID
	// expects are the pods that the last plan sends here, and awaited what those of them need that are in kept. A plan
	// counts for itself where it sends them.
	expects []types.UID
	awaited amount.Resources
}

// settleReservation recounts the nodes that keep room for a pod, and a node whose use changed with it.
func (l *Live) settleReservation(uid types.UID, at *entry) {
	l.settleExpected(uid)
	for _, c := range l.claims.byPod[uid] {
		l.settleArrival(c.Name)
		for _, e := range l.claimed[c.Name] {
			l.setReserved(e)
			if e == at {
				at = nil
			}
		}
	}
	if at != nil && (len(at.kept) > 0 || len(at.ousted) > 0) {
		l.setReserved(at)
	}
}

// setReserved counts what the pods will take that are expected or that the node's claim lists, and that are neither
// bound nor held.
func (l *Live) setReserved(e *entry) {
	l.countKept(e, -1)
	listed := l.waitingFor(e)
	awaited := l.awaited(e, listed)
	e.reservations = reservations{kept: append(listed, awaited...), expects: e.expects}
	if e.Stage == Open {
		l.oust(e)
	}
	l.countKept(e, 1)
	var sum amount.Resources
	for i, p := range e.kept {
		sum.Add(p.Ask.Requests)
		if slices.Contains(awaited, p) {
			e.awaited.Add(p.Ask.Requests)
		}
		if i == 0 || p.Priority < e.lowest {
			e.lowest = p.Priority
		}
	}
	if !e.Reserved.Equal(sum) {
		e.Reserved = sum
		l.thaw(e)
	}
}

// countKept counts the pods that a node keeps room for, or no longer where n is -1.
func (l *Live) countKept(e *entry, n int) {
	l.reserving += n * len(e.kept)
	for _, p := range e.kept {
		if p.shy() {
			l.shy += n
		}
	}
	if delete(l.keeping, e); n > 0 && len(e.kept) > 0 {
		l.keeping[e] = true
	}
}

// waitingFor are the pods that the node's claim keeps room for, in the order in which it lists them.
func (l *Live) waitingFor(e *entry) []*Pod {
	claim := l.claims.byName[e.Claim]
	if claim == nil {
		return nil
	}
	var pods []*Pod
	seen := make(map[types.UID]bool, len(claim.Spec.Reserved))
	for _, ref := range claim.Spec.Reserved {
		if p := l.pods[ref.UID]; p != nil && !seen[ref.UID] && l.waitsFor(p, claim) {
			pods = append(pods, p)
		}
		seen[ref.UID] = true
	}
	return pods
}

// waitsFor says whether a claim still keeps room for a pod.
func (l *Live) waitsFor(p *Pod, claim *v1alpha1.NodeClaim) bool {
	return p.Pending() && l.holds[p.UID] == nil && l.claims.keeper(p.UID) == claim
}

// oust ends the reservations that a node has no room for: its kubelet offers less than was promised, or others took the
// room. Those of higher priority stay, then those that the claim lists first.
func (l *Live) oust(e *entry) {
	left := e.Allocatable.Clone()
	left.Sub(e.Used)
	left.Sub(e.Held)
	left.Sub(e.Daemons)
	all := left.Clone()
	for _, p := range e.kept {
		all.Sub(p.Ask.Requests)
	}
	if !all.Overdrawn() {
		return
	}
	slices.SortStableFunc(e.kept, func(a, b *Pod) int { return cmp.Compare(b.Priority, a.Priority) })
	e.kept = slices.DeleteFunc(e.kept, func(p *Pod) bool {
		if !Room(p.Ask, e.Allocatable, left, l.classes).Fits {
			e.ousted = append(e.ousted, p.UID)
			return true
		}
		left.Sub(p.Ask.Requests)
		return false
	})
}

// keepsFor says whether a node keeps room for this very pod.
func (e *entry) keepsFor(uid types.UID) bool {
	return slices.ContainsFunc(e.kept, func(p *Pod) bool { return p.UID == uid })
}

// isOusted says whether the room that a claim kept for a pod is gone.
func (l *Live) isOusted(uid types.UID, claim *v1alpha1.NodeClaim) bool {
	for _, e := range l.claimed[claim.Name] {
		if slices.Contains(e.ousted, uid) {
			return true
		}
	}
	return false
}

// provided says whether a pod has room of its own that it only has to wait for: the last plan sends it to a node that the
// scheduler's filters will let it have, or a machine keeps room for it. It takes none from others, who would need another
// machine while the pod's own stays empty.
func (l *Live) provided(uid types.UID) bool {
	claim := l.claims.keeper(uid)
	return l.expected[uid] != "" || claim != nil && (InFlight(claim) ||
		slices.ContainsFunc(l.claimed[claim.Name], func(e *entry) bool { return e.keepsFor(uid) }))
}

// takeOver finds a node for a pod in room that is kept for pods of lower priority; empty when there is none. Those whose
// room is taken are counted out by oust once the hold stands, and planned for again.
func (l *Live) takeOver(p *Pod, offered []*entry) string {
	if l.reserving == 0 {
		return ""
	}
	keeper, company := l.keeper(p.UID), l.companyFor(p)
	var best rank
	for _, e := range offered {
		if e == nil || e.Object == nil || e.Stage != Open || len(e.kept) == 0 || e.lowest >= p.Priority || company.bars(e, false) {
			continue
		}
		o := newOpinion(p.Ask, e)
		if o.refused != nil {
			continue
		}
		free := e.room(p.Ask)
		l.addOwn(&free, p, e, keeper)
		for _, other := range e.kept {
			if other.Priority < p.Priority {
				free.Add(other.Ask.Requests)
			}
		}
		if !Room(p.Ask, e.Allocatable, free, l.classes).Fits {
			continue
		}
		if r := e.rank(p, &o, keeper); best.entry == nil || r.before(best) {
			best = r
		}
	}
	if best.entry == nil {
		return ""
	}
	return best.entry.Name
}

// Reserving is how many pods room is kept for on nodes that exist.
func (l *Live) Reserving() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reserving
}
