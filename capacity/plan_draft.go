package capacity

import (
	"github.com/muster-sh/muster/policy"
)

// draft is one way to buy machines for the pods that are left. Pods are counted, not named, until it is chosen.
type draft struct {
	*market
	goal    policy.Goal
	batches []*batch
	left    []int                      // pods of each batch that have no machine yet
	skip    []int                      // for a batch that is used up: where to look for the next
	budgets map[*vendor]*policy.Budget // what each pool may still buy
	lots    []lot
	bill    policy.Bill
	ranks   []int        // of each batch: where its priority is counted in the bill
	won     []*blueprint // the best machine of each tier when they were last compared
	effort  int          // batches looked at so far
}

// lot is a number of machines that are alike and carry alike.
type lot struct {
	*blueprint
	machines int
	packed   []packed
}

// packed is how many pods of a batch one machine of a lot carries.
type packed struct{ batch, pods int }

func (m *market) newDraft(batches []*batch, goal policy.Goal) *draft {
	d := &draft{market: m, goal: goal, batches: batches, budgets: map[*vendor]*policy.Budget{}, won: make([]*blueprint, len(m.tiers))}
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
	}
	d.bill.Served = make([]int, rank+1+len(m.tiers))
	return d
}

// fillAll serves the batches in their order. The first pod that has no machine decides which machines are looked at, and
// all later pods fill the one that is bought for it.
func (d *draft) fillAll() {
	for i := range d.batches {
		for d.left[i] > 0 {
			best, ok := d.choose(i)
			if !ok {
				break
			}
			d.buy(best)
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
		if l, found := d.compare(sellers, batch); found {
			return l, true
		}
	}
	return lot{}, false
}

// compare fills every machine that the sellers have for a batch, and picks the best.
func (d *draft) compare(sellers []*vendor, batch int) (best lot, found bool) {
	var offered policy.Offer
	for _, s := range sellers {
		for _, b := range s.onSale(d.budgets[s]) {
			if !d.sells(b, batch) {
				continue
			}
			l, offer := d.fill(b, batch)
			if !found || d.goal.Better(offer, offered) {
				best, offered, found = l, offer, true
				d.won[s.tier] = b
			}
		}
	}
	return best, found
}

// sells says whether a machine takes pods of a batch and is within the limits.
func (d *draft) sells(b *blueprint, batch int) bool {
	return b.takes(d.batches[batch].class) && d.budgets[b.vendor].Refuses(b.machine) == ""
}

// buy takes as many machines of a lot as are of use and within the limits.
func (d *draft) buy(l lot) {
	budget, bought := d.budgets[l.vendor], 0
	for bought < l.machines && budget.Refuses(l.machine) == "" {
		budget.Spend(l.machine, true)
		bought++
	}
	l.machines = bought
	for _, p := range l.packed {
		d.left[p.batch] -= p.pods * bought
		d.bill.Served[d.ranks[p.batch]] += p.pods * bought
		d.bill.Served[d.ranks[p.batch]+1+l.vendor.tier] += p.pods * bought
	}
	d.bill.Cost += l.cost * float64(bought)
	d.bill.Machines += bought
	d.lots = append(d.lots, l)
}
