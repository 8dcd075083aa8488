package replay

import (
	"cmp"
	"slices"
	"time"
)

// RebuyWindow is how soon after a release a purchase of the same pool counts as its undoing.
const RebuyWindow = 10 * time.Minute

// bill sums up the machines, as a whole and by pool and shape.
func (m *meter) bill(now time.Time) (Machines, []Purchase) {
	sum := Machines{PeakNodes: m.peak, NodeHours: round(m.totals.nodes / 3600)}
	by := map[[2]string]*Purchase{}
	for _, b := range m.order {
		to := b.to
		if to.IsZero() {
			to = now
			sum.Left++
		} else {
			sum.Released++
		}
		hours := to.Sub(b.from).Hours()
		p := by[[2]string{b.pool, b.shape}]
		if p == nil {
			p = &Purchase{Pool: b.pool, Shape: b.shape}
			by[[2]string{b.pool, b.shape}] = p
		}
		p.Machines++
		p.Hours += hours
		p.Cost += hours * b.cost
		sum.Bought++
		sum.Hours += hours
		sum.Cost += hours * b.cost
		sum.Energy += hours * b.watts / 1000
		sum.Wasted += btoi(!b.used)
	}
	sum.Hours, sum.Cost, sum.Energy = round(sum.Hours), round(sum.Cost), round(sum.Energy)
	sum.Rebought = m.rebought()
	return sum, purchases(by)
}

// rebought pairs every purchase with a release of its pool shortly before it, each release once.
func (m *meter) rebought() int {
	ends := map[string][]time.Time{}
	for _, b := range m.order {
		if !b.to.IsZero() {
			ends[b.pool] = append(ends[b.pool], b.to)
		}
	}
	for _, list := range ends {
		slices.SortFunc(list, time.Time.Compare)
	}
	count := 0
	for _, b := range slices.SortedStableFunc(slices.Values(m.order), func(a, b *bought) int { return a.from.Compare(b.from) }) {
		list := ends[b.pool]
		for len(list) > 0 && b.from.Sub(list[0]) > RebuyWindow {
			list = list[1:]
		}
		if len(list) > 0 && !list[0].After(b.from) {
			count++
			list = list[1:]
		}
		ends[b.pool] = list
	}
	return count
}

func purchases(by map[[2]string]*Purchase) []Purchase {
	list := make([]Purchase, 0, len(by))
	for _, p := range by {
		p.Hours, p.Cost = round(p.Hours), round(p.Cost)
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b Purchase) int {
		return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Shape, b.Shape))
	})
	return list
}
