package capacity

import (
	"math"
	"strings"

	"github.com/muster-sh/muster/policy"
)

// draft is one way to buy machines for the pods that are left. Pods are counted, not named, until it is chosen.
type draft struct {
	*market
	goal    policy.Goal
	batches []*batch
	left    []int                      // pods of each batch that have no machine yet
	budgets map[*vendor]*policy.Budget // what each pool may still buy
	lots    []lot
	bill    policy.Bill
	ranks   []int // of each batch: where its priority is counted in the bill
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
	d := &draft{market: m, goal: goal, batches: batches, budgets: map[*vendor]*policy.Budget{}}
	for _, s := range m.vendors {
		d.budgets[s] = s.budget.Clone()
	}
	rank := 0
	for i, b := range batches {
		if i > 0 && b.priority != batches[i-1].priority {
			rank += 1 + len(m.tiers)
		}
		d.left = append(d.left, len(b.pods))
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

// choose picks the best machine for a batch in the first tier that has one.
func (d *draft) choose(batch int) (lot, bool) {
	for _, tier := range d.tiers {
		var best lot
		var offered policy.Offer
		for _, s := range tier {
			for _, b := range s.onSale(d.budgets[s]) {
				if !b.takes(d.batches[batch].class) || d.budgets[s].Refuses(b.machine) != "" {
					continue
				}
				l, offer := d.fill(b, batch)
				if best.blueprint == nil || d.goal.Better(offer, offered) {
					best, offered = l, offer
				}
			}
		}
		if best.blueprint != nil {
			return best, true
		}
	}
	return lot{}, false
}

// fill packs pods into one machine, the given batch and those after it in their order, and works out how many such
// machines can be packed alike: a machine that takes the last of a batch is the only one of its kind.
func (d *draft) fill(b *blueprint, first int) (lot, policy.Offer) {
	l := lot{blueprint: b, machines: math.MaxInt}
	offer := policy.Offer{Cost: b.cost}
	free := b.free.Clone()
	for i := first; i < len(d.batches) && free.Pods > 0; i++ {
		class := d.batches[i].class
		if d.left[i] == 0 || !b.takes(class) {
			continue
		}
		n := times(free, class.ask.Requests, d.left[i])
		if n == 0 {
			continue
		}
		free.subTimes(class.ask.Requests, int64(n))
		l.packed = append(l.packed, packed{batch: i, pods: n})
		l.machines = min(l.machines, d.left[i]/n)
		if n == d.left[i] {
			l.machines = 1
		}
		offer.Packed += class.size * float64(n)
	}
	offer.Idle = idle(b, free)
	if b.vendor.sizes != nil {
		l.blueprint = d.shrink(b, free, l.packed)
		offer.Cost = l.cost
	}
	return l, offer
}

// times is how often an amount fits into what is free, at most so often. Kinds that are not asked for are never short.
func times(free, ask Resources, most int) int {
	n := int64(most)
	fit := func(have, want int64) {
		if want > 0 {
			n = min(n, max(have, 0)/want)
		}
	}
	fit(free.Pods, ask.Pods)
	fit(free.MilliCPU, ask.MilliCPU)
	fit(free.Memory, ask.Memory)
	fit(free.EphemeralStorage, ask.EphemeralStorage)
	for name, want := range ask.Scalar {
		fit(free.Scalar[name], want)
	}
	return int(n)
}

// subTimes takes o off n times; the caller knows that it fits so often.
func (r *Resources) subTimes(o Resources, n int64) {
	r.Pods -= o.Pods * n
	r.MilliCPU -= max(o.MilliCPU, 0) * n
	r.Memory -= max(o.Memory, 0) * n
	r.EphemeralStorage -= max(o.EphemeralStorage, 0) * n
	for name, v := range o.Scalar {
		if v > 0 {
			r.Scalar[name] -= v * n
		}
	}
}

// idle says whether the machine has an extended resource that nothing packed asks for.
func idle(b *blueprint, free Resources) bool {
	for name, v := range b.free.Scalar {
		if v > 0 && free.Scalar[name] == v && strings.Contains(string(name), "/") {
			return true
		}
	}
	return false
}

// shrink finds the smallest size that still carries what was packed into the largest.
func (d *draft) shrink(b *blueprint, free Resources, carried []packed) *blueprint {
	cpu := addSaturated(ResourcesOf(b.machine).MilliCPU, -max(free.MilliCPU, 0))
	memory := addSaturated(ResourcesOf(b.machine).Memory, -max(free.Memory, 0))
	shape, ok := b.vendor.sizes.Smallest(cpu, memory)
	if !ok {
		return b
	}
	if small := b.vendor.size(shape); d.carries(small, carried) {
		return small
	}
	return b
}

func (d *draft) carries(b *blueprint, carried []packed) bool {
	free := b.free.Clone()
	for _, p := range carried {
		class := d.batches[p.batch].class
		if !b.takes(class) || times(free, class.ask.Requests, p.pods) < p.pods {
			return false
		}
		free.subTimes(class.ask.Requests, int64(p.pods))
	}
	return true
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
