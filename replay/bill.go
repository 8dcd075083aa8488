package replay

import (
	"cmp"
	"slices"
	"time"
)

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
		sum.Wasted += btoi(!b.used)
	}
	sum.Hours, sum.Cost = round(sum.Hours), round(sum.Cost)
	return sum, purchases(by)
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
