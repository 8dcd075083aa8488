package planner

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// quote is what pods are worth to the pools of one tier, and what their machines could carry. All amounts are parts of
// what the pods ask for together, so that kinds can be compared.
type quote struct {
	price  []float64   // of all that is asked of each kind
	needs  [][]float64 // of one pod of each batch
	worth  []float64   // of one pod of each batch
	left   []float64   // of each kind, by the pods that have no machine yet
	offers []item      // the machines of fixed sizes
	scores []float64   // of the offers, scratch
	from   int         // the offers that are compared
	to     int
	asked  []float64 // of each kind, in all: the unit of the amounts here
}

// item is a machine for sale and its room.
type item struct {
	*blueprint
	room []float64
	full float64 // what all of it is worth
}

// aLittle keeps the worth of a pod above zero where all that it asks for is free of charge.
const aLittle = 1e-9

// quoteFor is the quote of a tier. As long as nothing is bought it is the same for every draft.
func (d *draft) quoteFor(sellers []*vendor) *quote {
	if len(d.lots) > 0 {
		return d.newQuote(sellers)
	}
	known := d.quotes[sellers[0].tier]
	if known == nil {
		known = d.newQuote(sellers)
		d.quotes[sellers[0].tier] = known
	}
	q := *known
	q.left = slices.Clone(q.left)
	return &q
}

// newQuote prices a tier for the pods that are left. A range shows the largest size that it may sell.
func (d *draft) newQuote(sellers []*vendor) *quote {
	q := &quote{left: make([]float64, len(d.kinds))}
	asked := make([]float64, len(d.kinds))
	for i, b := range d.batches {
		for k, n := range b.class.need {
			asked[k] += float64(n) * float64(d.left[i])
		}
	}
	for k := range asked {
		q.left[k] = min(asked[k], 1)
		asked[k] = max(asked[k], 1)
	}
	q.asked = asked
	q.list(d, sellers)
	q.scores = make([]float64, len(q.offers))
	slices.SortStableFunc(q.offers, func(a, b item) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.full, b.full))
	})
	amounts := make([]float64, len(d.batches)*len(d.kinds))
	q.needs, q.worth = make([][]float64, len(d.batches)), make([]float64, len(d.batches))
	for i, b := range d.batches {
		q.needs[i], amounts = parts(b.class.need, asked, amounts)
		q.worth[i] = q.value(q.needs[i]) + aLittle*b.class.size
	}
	return q
}

// list notes what is for sale, and works out the price of each kind.
func (q *quote) list(d *draft, sellers []*vendor) {
	most := 0
	for _, s := range sellers {
		most += max(len(s.fixed), 1)
	}
	rooms, costs := make([][]float64, 0, most), make([]float64, 0, most)
	q.offers = make([]item, 0, most)
	for _, s := range sellers {
		offers := s.onSale(d.budgets[s])
		amounts := make([]float64, len(offers)*len(d.kinds))
		for _, b := range offers {
			if !b.usable() {
				continue
			}
			o := item{blueprint: b}
			o.room, amounts = parts(b.free, q.asked, amounts)
			rooms, costs = append(rooms, o.room), append(costs, b.Cost)
			if s.sizes == nil {
				q.offers = append(q.offers, o)
			}
		}
	}
	q.price = unitPrices(rooms, costs, q.left)
	for i := range q.offers {
		q.offers[i].full = q.value(q.offers[i].room)
	}
}

// rangeOf is where the offers of a family stand.
func (q *quote) rangeOf(f *family) (from, to int) {
	from = sort.Search(len(q.offers), func(i int) bool { return q.offers[i].order >= f.order })
	to = sort.Search(len(q.offers), func(i int) bool { return q.offers[i].order > f.order })
	return from, to
}

func (q *quote) sold(batch, pods int) {
	for k, n := range q.needs[batch] {
		q.left[k] = max(q.left[k]-n*float64(pods), 0)
	}
}

// parts writes amounts as parts of others to the front of a list, and returns them and what is left of the list.
func parts(a vector, of, to []float64) (out, rest []float64) {
	out, rest = to[:len(a):len(a)], to[len(a):]
	for i, v := range a {
		out[i] = float64(max(v, 0)) / of[i]
	}
	return out, rest
}

func (q *quote) value(part []float64) float64 {
	sum := 0.0
	for k, p := range part {
		sum += q.price[k] * p
	}
	return sum
}

// could is what a machine would carry at most of what is left, in money.
func (q *quote) could(room []float64) float64 {
	sum := aLittle
	for k, r := range room {
		sum += q.price[k] * min(r, q.left[k])
	}
	return sum
}

// mostTried is how many machines are filled for one that is bought.
const mostTried = 5

// mostTriedApart is the same where pods are packed one by one.
const mostTriedApart = 2

// promising are machines of different sizes that take a pod of the batch and cost the least for what they could carry
// of all that is left. Where a family is given they are of that family, and as large as its share.
func (d *draft) promising(sellers []*vendor, batch int, of *camp) []*blueprint {
	var out []*blueprint
	for _, s := range sellers {
		if s.sizes == nil {
			continue
		}
		for _, b := range s.onSale(d.budgets[s]) {
			if d.sells(b, batch) && (of == nil || b.family == of.family) {
				out = append(out, b)
			}
		}
	}
	q, class := d.quote, d.batches[batch].class
	most := mostTried
	if of != nil {
		most = mostTriedApart
		q.rate(class, of, d.share(of))
	} else {
		q.rateAll(class)
	}
	for tried := 0; tried < most; {
		best := q.best()
		if best < 0 {
			break
		}
		if d.budgets[q.offers[best].vendor].Refuses(q.offers[best].resources()) != "" {
			q.scores[best] = math.Inf(1)
			continue
		}
		out = append(out, q.offers[best].blueprint)
		q.dropTwins(best)
		tried++
	}
	return out
}

// rateAll scores every machine that takes pods of a class.
func (q *quote) rateAll(c *class) {
	q.from, q.to = 0, len(q.offers)
	for i := range q.offers {
		q.scores[i] = math.Inf(1)
		if o := &q.offers[i]; o.takes(c) {
			q.scores[i] = o.Cost / q.could(o.room)
		}
	}
}

// rate scores those of a family that are worth no more than a share, or else the smallest that will do.
func (q *quote) rate(c *class, of *camp, share float64) {
	q.from, q.to = q.rangeOf(of.family)
	smallest := true
	for i := q.from; i < q.to; i++ {
		o := &q.offers[i]
		if o.full > share*(1+alike) && !smallest {
			q.to = i
			return
		}
		q.scores[i] = math.Inf(1)
		if !o.takes(c) {
			continue
		}
		if smallest {
			smallest, share = false, max(share, o.full)
		}
		q.scores[i] = o.Cost / q.could(o.room)
	}
}

// best is the offer with the least score, of those that are as good as equal the largest: it wastes least by rounding.
func (q *quote) best() int {
	best := -1
	for i := q.from; i < q.to; i++ {
		if score := q.scores[i]; !math.IsInf(score, 1) && (best < 0 || q.before(i, best)) {
			best = i
		}
	}
	return best
}

func (q *quote) before(i, best int) bool {
	if math.Abs(q.scores[i]-q.scores[best]) > rounding*q.scores[best] {
		return q.scores[i] < q.scores[best]
	}
	return q.offers[i].full > q.offers[best].full*(1+rounding)
}

// rounding is how far numbers may differ that are equal but for the order in which they were added.
const rounding = 1e-9

// alike is how near in size two machines are that need not both be tried.
const alike = 0.08

func (q *quote) dropTwins(of int) {
	a := &q.offers[of]
	for i := q.from; i < q.to; i++ {
		b := &q.offers[i]
		if math.IsInf(q.scores[i], 1) || a.Extra != b.Extra {
			continue
		}
		twins := true
		for k := range a.room {
			twins = twins && math.Abs(a.room[k]-b.room[k]) <= alike*a.room[k]
		}
		if twins {
			q.scores[i] = math.Inf(1)
		}
	}
	q.scores[of] = math.Inf(1)
}
