package reaper

import (
	"fmt"
	"slices"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// bargain is nodes that one machine, or none, replaces for less.
type bargain struct {
	old     []*capacity.Claim
	create  []*v1alpha1.NodeClaim
	saves   float64
	message string
}

// worthwhile says whether these nodes together are replaced by at most one machine, for enough less. It remembers those
// that save most; of equal ones the fewest.
func (t *trial) worthwhile(old []*capacity.Claim) bool {
	now, least := 0.0, int32(0)
	for _, c := range old {
		price, _ := t.price(c)
		now += price
		least = max(least, t.pools[c.Object.Spec.Pool].object.Spec.ScaleDown.SavingThreshold)
	}
	v := t.without(old...)
	a := t.plan(v, old...)
	if a.why != "" || len(a.create) > 1 || now <= 0 || (now-a.cost)*100 < float64(least)*now {
		return false
	}
	if t.tightWithout(old, a) {
		return false
	}
	if saves := now - a.cost; t.best != nil && (saves < t.best.saves || saves == t.best.saves && len(old) > len(t.best.old)) {
		return true
	}
	t.best = &bargain{old: old, create: a.create, saves: now - a.cost, message: fmt.Sprintf("%d for %.4g instead of %.4g an hour", len(old), a.cost, now)}
	return true
}

// tightWithout says whether less than its headroom is left free in a pool that loses a node or takes a pod.
func (t *trial) tightWithout(old []*capacity.Claim, a answer) bool {
	gone, pools := map[string]bool{}, map[string]*rooms{}
	for _, c := range old {
		gone[c.Node.Name] = true
		pools[c.Object.Spec.Pool] = t.newRooms(c.Object.Spec.Pool)
	}
	nodes := slices.Clone(t.base.Nodes)
	for _, c := range a.create {
		bought := capacity.NodeOfClaim(c, t.v.Daemons)
		bought.Stage = capacity.Open
		nodes = append(nodes, bought)
		a.lands[bought.Name] = a.lands[""]
	}
	for _, n := range nodes {
		if len(a.lands[n.Name]) > 0 && pools[n.Pool] == nil {
			pools[n.Pool] = t.newRooms(n.Pool)
		}
	}
	for _, n := range nodes {
		if r := pools[n.Pool]; r != nil && n.Stage == capacity.Open && !gone[n.Name] && !capacity.Unreachable(n.Object) {
			r.add(n.Allocatable, n.Free())
			for _, p := range a.lands[n.Name] {
				r.take(p.Ask.Requests)
			}
		}
	}
	for _, r := range pools {
		if r.tight() {
			return true
		}
	}
	return false
}

// carryOut buys the machine of the best bargain, or lets its nodes go at once where none is needed.
func (t *trial) carryOut() {
	b := t.best
	if b == nil {
		return
	}
	var detail string
	why := Replacing
	if len(b.create) > 0 {
		order := Replacement{Create: replacing(b.create, Consolidated, b.old...), Reason: Consolidated, Message: b.message}
		for _, c := range b.old {
			order.Old = append(order.Old, c.Object)
		}
		t.Order = append(t.Order, order)
		detail = "machine " + b.create[0].Name + " is bought first"
	} else if refused, text := t.chooseAll(b.old); refused != "" {
		why, detail = refused, text
	} else {
		why, detail = Consolidated, t.releaseAll(b.message)
	}
	for _, c := range b.old {
		t.spare(c, why, detail)
	}
}
