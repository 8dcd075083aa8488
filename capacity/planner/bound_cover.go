package planner

import (
	"cmp"
	"math"
	"slices"
)

// slack is taken off what is computed in floating point, so that rounding never lifts a bound above the truth.
const slack = 1e-9

// cover is the least cost at which the machines bought offer what every row needs.
func (b *floor) cover(rows []row) float64 {
	rows, costs := b.program(rows)
	first := min(len(rows), firstRows)
	active, rest, best := rows[:first:first], rows[first:], 0.0
	for {
		prices, bought := solve(active, costs)
		best = max(best, worth(active, costs, prices))
		broken := slices.IndexFunc(rest, func(r row) bool { return r.broken(bought) })
		if broken < 0 {
			return best
		}
		active, rest = append(active, rest[broken]), slices.Concat(rest[:broken], rest[broken+1:])
	}
}

// firstRows is how many rows the program starts with. Most of the others follow from them; one that its answer breaks is
// taken in, one after the other.
const firstRows = 8

// program scales every row to a need of 1, and leaves out the rows that say nothing and machines that are like others.
func (b *floor) program(rows []row) (scaled []row, costs []float64) {
	var asked []row
	for _, r := range rows {
		if r.need > 0 {
			asked = append(asked, r)
		}
	}
	kept := b.unlike(asked)
	for _, i := range kept {
		costs = append(costs, b.sale[i].Cost)
	}
	for _, r := range asked {
		offers := make([]float64, len(kept))
		for to, i := range kept {
			offers[to] = r.offers[i] / r.need
		}
		scaled = append(scaled, row{need: 1, offers: offers})
	}
	return scaled, costs
}

// unlike are the machines on sale, one of those that cost and offer the same.
func (b *floor) unlike(rows []row) []int {
	compare := func(i, j int) int {
		order := cmp.Compare(b.sale[i].Cost, b.sale[j].Cost)
		for r := 0; order == 0 && r < len(rows); r++ {
			order = cmp.Compare(rows[r].offers[i], rows[r].offers[j])
		}
		return order
	}
	all := make([]int, len(b.sale))
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(i, j int) int { return cmp.Or(compare(i, j), cmp.Compare(i, j)) })
	return slices.CompactFunc(all, func(i, j int) bool { return compare(i, j) == 0 })
}

// solve returns the price of each row's need and how much is bought of each machine.
func solve(rows []row, costs []float64) (prices, bought []float64) {
	offers, needs := make([][]float64, len(costs)), make([]float64, len(rows))
	cells := make([]float64, len(costs)*len(rows))
	for i := range offers {
		offers[i] = cells[i*len(rows) : (i+1)*len(rows)]
		for j, r := range rows {
			offers[i][j] = r.offers[i]
		}
	}
	for j := range needs {
		needs[j] = 1
	}
	t := newTableau(offers, costs, needs)
	t.run()
	prices, bought = make([]float64, len(rows)), make([]float64, len(costs))
	for i, name := range t.basic {
		if name < len(rows) {
			prices[name] = math.Max(t.right[i], 0)
		}
	}
	for j, name := range t.free {
		if name >= len(rows) {
			bought[name-len(rows)] = math.Max(-t.goal[j], 0)
		}
	}
	return prices, bought
}

// broken says whether machines bought do not offer what the row needs.
func (r row) broken(bought []float64) bool {
	sum := 0.0
	for i, n := range bought {
		sum += n * r.offers[i]
	}
	return sum < 1-1e-6
}

// worth is what all needs are worth together at these prices, scaled so that no machine offers more than it costs: then
// whatever is bought costs at least as much, whether the prices are the best ones or not.
func worth(rows []row, costs, prices []float64) float64 {
	for j, r := range rows {
		for i, cost := range costs {
			if cost <= 0 && r.offers[i] > 0 {
				prices[j] = 0
			}
		}
	}
	most := 0.0
	for i, cost := range costs {
		offered := 0.0
		for j, r := range rows {
			offered += r.offers[i] * prices[j]
		}
		if cost > 0 {
			most = max(most, offered/cost)
		}
	}
	sum := 0.0
	for _, price := range prices {
		sum += price
	}
	if most == 0 {
		return 0
	}
	return sum / most * (1 - slack)
}
