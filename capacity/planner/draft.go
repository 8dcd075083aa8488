package planner

import (
	"github.com/muster-sh/muster/capacity/simulation"
	"github.com/muster-sh/muster/policy"
)

// draft is one way to buy machines for the pods that are left. Pods are counted, not named, until it is chosen.
type draft struct {
	*market
	style   style
	batches []*batch
	left    []int                      // pods of each batch that have no machine yet
	skip    []int                      // for a batch that is used up: where to look for the next
	least   []vector                   // of each block of batches: see leastOf
	budgets map[*vendor]*policy.Budget // what each pool may still buy
	lots    []lot
	bill    policy.Bill
	ranks   []int        // of each batch: where its priority is counted in the bill
	won     []*blueprint // the best machine of each tier when they were last compared
	effort  int          // batches looked at so far

	crowd   *assembly // nil where rules about other pods see none of these
	plain   []int     // the batches that are not social
	shelves []shelf
	open    []shelf  // of the machine being filled, scratch
	quote   *quote   // of the tier that is looked at
	taken   []int    // of each batch: what the machine being filled takes
	carried []packed // by that machine, scratch
	measure measure  // of its room, scratch
}

// lot is a number of machines that are alike and carry alike.
type lot struct {
	*blueprint
	machines int
	packed   []packed
	place    *simulation.Place // of the one machine of the lot, where rules about other pods matter
}

// packed is how many pods of a batch one machine of a lot carries.
type packed struct{ batch, pods int }

func (m *market) newDraft(batches []*batch, s style) *draft {
	d := &draft{
		market: m, style: s, batches: batches, least: leastOf(batches), budgets: map[*vendor]*policy.Budget{},
		won: make([]*blueprint, len(m.tiers)), taken: make([]int, len(batches)),
	}
	for _, s := range m.vendors {
		d.budgets[s] = s.budget.Clone()
	}
	rank := 0
	for i, b := range batches {
		if i > 0 && b.priority != batches[i-1].priority {
			rank += 1 + len(m.tiers)
		}
		d.left, d.skip = append(d.left, len(b.pods)), append(d.skip, i+1)
		d.ranks = append(d.ranks, rank)
		if !b.class.social {
			d.plain = append(d.plain, i)
		}
	}
	d.bill.Served = make([]int, rank+1+len(m.tiers))
	return d
}

// fillAll serves the batches: in their order, or tier by tier. The first pod that has no machine decides which machines
// are looked at, and other pods fill the one that is bought for it.
func (d *draft) fillAll() {
	d.crowd = d.gathering()
	if d.style.all && d.crowd == nil {
		for i := range d.batches {
			d.serve(i, d.choose)
		}
		return
	}
	if d.style.focus > 0 {
		d.stock()
	}
	for _, sellers := range d.tiers {
		d.fillTier(sellers)
	}
	if d.crowd != nil {
		d.squeeze()
		d.verify()
		d.sim.Rewind(d.crowd.start)
	}
}

func (d *draft) fillTier(sellers []*vendor) {
	d.quote = d.quoteFor(sellers)
	if d.crowd == nil {
		for i := range d.batches {
			d.serve(i, func(batch int) (lot, bool) { return d.compare(d.promising(sellers, batch, nil), batch) })
		}
		return
	}
	for open := len(d.families(sellers)); open > 0; {
		d.scatter(sellers)
		d.crowd.lonely = d.repelling()
		for _, i := range d.seeds() {
			d.serve(i, func(batch int) (lot, bool) { return d.gather(sellers, batch) })
		}
		d.strand()
		before := open
		if open = len(d.families(sellers)); open == before || !d.crowd.anyUnsited() {
			return
		}
	}
}

func (d *draft) serve(batch int, choose func(int) (lot, bool)) {
	for d.left[batch] > 0 && !d.sim.Spent() {
		before := d.effort
		best, ok := choose(batch)
		d.sim.Spend(d.effort - before)
		if !ok || !d.buy(best) {
			return
		}
	}
}

// maxEffort bounds the comparison of machines: beyond it, what won last is bought again as long as it will do. Only
// plans for many thousands of pods that all differ get there.
const maxEffort = 10_000_000

// live is the first batch from i on that still has pods.
func (d *draft) live(i int) int {
	end := i
	for end < len(d.left) && d.left[end] == 0 {
		end = d.skip[end]
	}
	for i < end {
		i, d.skip[i] = d.skip[i], end
	}
	return end
}

// choose picks the best machine for a batch in the first tier that has one.
func (d *draft) choose(batch int) (lot, bool) {
	for tier, sellers := range d.tiers {
		if won := d.won[tier]; d.effort > maxEffort && won != nil && d.sells(won, batch) {
			l, _ := d.fill(won, batch)
			return l, true
		}
		if l, found := d.compare(d.onSale(sellers, batch), batch); found {
			return l, true
		}
	}
	return lot{}, false
}

// onSale are the machines that the sellers have for a batch.
func (d *draft) onSale(sellers []*vendor, batch int) []*blueprint {
	var all []*blueprint
	for _, s := range sellers {
		for _, b := range s.onSale(d.budgets[s]) {
			if d.sells(b, batch) {
				all = append(all, b)
			}
		}
	}
	return all
}

// compare fills machines for a batch, and picks the best.
func (d *draft) compare(offers []*blueprint, batch int) (best lot, found bool) {
	if d.crowd != nil {
		return d.tryAll(offers, batch)
	}
	var offered policy.Offer
	for _, b := range offers {
		l, offer := d.fill(b, batch)
		if !found || d.style.goal.Better(offer, offered) {
			best, offered, found = l, offer, true
			d.won[b.vendor.tier] = b
		}
	}
	return best, found
}

// sells says whether a machine takes pods of a batch and is within the limits.
func (d *draft) sells(b *blueprint, batch int) bool {
	return b.takes(d.batches[batch].class) && d.budgets[b.vendor].Refuses(b.resources()) == ""
}

// buy takes as many machines of a lot as are of use and within the limits, and says whether it took any.
func (d *draft) buy(l lot) bool {
	budget, bought := d.budgets[l.vendor], 0
	for bought < l.machines && budget.Refuses(l.resources()) == "" {
		budget.Spend(l.resources(), true)
		bought++
	}
	if l.machines = bought; bought == 0 {
		return false
	}
	if d.crowd != nil && l.place == nil {
		l.place = d.standEmpty(l.family, bought)
	}
	for _, p := range l.packed {
		d.left[p.batch] -= p.pods * bought
		d.count(p.batch, l.vendor.tier, p.pods*bought)
		if d.quote != nil {
			d.quote.sold(p.batch, p.pods*bought)
		}
	}
	d.bill.Cost += l.Cost * float64(bought)
	d.bill.Machines += bought
	d.lots = append(d.lots, l)
	return true
}

// count counts pods as served in a tier, or no longer.
func (d *draft) count(batch, tier, pods int) {
	d.bill.Served[d.ranks[batch]] += pods
	d.bill.Served[d.ranks[batch]+1+tier] += pods
}
