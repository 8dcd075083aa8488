package planner

import "math"

// unitPrices are what one unit of each kind is worth: the dual prices of the linear program that buys fractions of
// machines, at the least cost, until every kind is covered. No plan costs less than what is asked for is worth at these
// prices, so a machine that costs more than its pods are worth wastes the difference. offers are the amounts that the
// machines have for pods.
//
// The dual (the most for demand·y, while no machine is worth more than it costs) starts feasible at y = 0, so the simplex
// method needs one phase; Bland's rule ends it. See Chvátal, Linear Programming, chapters 2 and 5.
func unitPrices(offers [][]float64, costs, demand []float64) []float64 {
	t := newTableau(offers, costs, demand)
	t.run()
	prices := make([]float64, len(demand))
	for row, name := range t.basic {
		if name < len(demand) {
			prices[name] = math.Max(t.right[row], 0)
		}
	}
	return prices
}

// tableau is a dictionary: each basic variable written in those that are not. Variables below the number of kinds are
// prices, the others slacks of the machines.
type tableau struct {
	rows  [][]float64
	right []float64
	goal  []float64
	basic []int
	free  []int
}

func newTableau(offers [][]float64, costs, demand []float64) *tableau {
	t := &tableau{right: append([]float64(nil), costs...), goal: append([]float64(nil), demand...)}
	for k := range demand {
		t.free = append(t.free, k)
	}
	t.rows, t.basic = make([][]float64, len(offers)), make([]int, len(offers))
	cells, columns := make([]float64, len(offers)*len(demand)), len(demand)
	for i, offer := range offers {
		t.rows[i], t.basic[i] = cells[i*columns:(i+1)*columns], columns+i
		copy(t.rows[i], offer)
	}
	return t
}

// run pivots until no price can rise. A program that is cut short has prices that are feasible, and worth less.
func (t *tableau) run() {
	for range 50 * (len(t.free) + 1) {
		enter := t.entering()
		if enter < 0 {
			return
		}
		leave := t.leaving(enter)
		if leave < 0 {
			return // a kind that no machine offers has no price
		}
		t.pivot(leave, enter)
	}
}

// tiny is what rounding leaves of nothing.
const tiny = 1e-12

func (t *tableau) entering() int {
	best := -1
	for column, gain := range t.goal {
		if gain > tiny && (best < 0 || t.free[column] < t.free[best]) {
			best = column
		}
	}
	return best
}

func (t *tableau) leaving(column int) int {
	best, least := -1, math.Inf(1)
	for row, coefficients := range t.rows {
		if coefficients[column] <= tiny {
			continue
		}
		ratio := t.right[row] / coefficients[column]
		if ratio < least || ratio == least && t.basic[row] < t.basic[best] {
			best, least = row, ratio
		}
	}
	return best
}

// pivot swaps a basic variable with one that is not.
func (t *tableau) pivot(row, column int) {
	r := t.rows[row]
	by := r[column]
	for j := range r {
		r[j] /= by
	}
	r[column] = 1 / by
	t.right[row] /= by
	for i, other := range t.rows {
		if i != row {
			t.right[i] = eliminate(other, r, t.right[i], t.right[row], column)
		}
	}
	eliminate(t.goal, r, 0, 0, column)
	t.basic[row], t.free[column] = t.free[column], t.basic[row]
}

func eliminate(from, r []float64, right, pivotRight float64, column int) float64 {
	factor := from[column]
	if factor == 0 {
		return right
	}
	for j := range from {
		if j == column {
			from[j] = -factor * r[j]
			continue
		}
		from[j] -= factor * r[j]
	}
	return right - factor*pivotRight
}
