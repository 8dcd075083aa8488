package planner

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/capacity/simulation"
	"github.com/muster-sh/muster/policy"
)

// repelling finds out which pods share a machine with none of their like: one of two that stand apart is tried beside
// the other.
func (d *draft) repelling() []bool {
	c := d.crowd
	lonely, known := make([]bool, len(c.refused)), make([]bool, len(c.refused))
	for _, at := range c.camps {
		first := slices.Repeat([]int{-1}, len(c.refused))
		for i, n := range at.pods {
			like := d.batches[i].class.like
			if n == 0 || known[like] {
				continue
			}
			if first[like] < 0 {
				first[like] = i
				n--
			}
			if n > 0 {
				lonely[like], known[like] = d.repels(at, first[like], i), true
			}
		}
	}
	return lonely
}

// repels says whether a pod of one batch keeps one of another off its machine.
func (d *draft) repels(at *camp, one, other int) bool {
	first, second, mark := d.batches[one].class.sim, d.batches[other].class.sim, d.sim.Mark()
	bin := d.sim.Open(at.model)
	d.sim.Take(first, at.raft(one), 1)
	d.sim.Put(first, bin, 1)
	d.sim.Take(second, at.raft(other), 1)
	apart := !d.sim.Company(second, bin).Fits
	d.sim.Rewind(mark)
	return apart
}

// seeds are the batches in the order in which machines are bought for them: where machines are packed evenly those come
// first that need one each, so that the others fill what is bought anyway.
func (d *draft) seeds() []int {
	order := make([]int, len(d.batches))
	for i := range order {
		order[i] = i
	}
	if d.style.focus == 0 {
		return order
	}
	rank := func(i int) int {
		if class := d.batches[i].class; class.social && d.crowd.lonely[class.like] {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	return order
}

// gather fills a machine for a batch: for a social one in the family where most of its pods stand.
func (d *draft) gather(sellers []*vendor, batch int) (lot, bool) {
	if !d.batches[batch].class.social {
		return d.compare(d.promising(sellers, batch, nil), batch)
	}
	c := d.crowd
	camps := slices.Clone(c.camps)
	slices.SortStableFunc(camps, func(a, b *camp) int { return cmp.Compare(b.pods[batch], a.pods[batch]) })
	for _, f := range camps {
		if f.pods[batch] == 0 {
			break
		}
		if l, found := d.compare(d.promising(sellers, batch, f), batch); found {
			return l, true
		}
	}
	return lot{}, false
}

// tryAll fills each machine for a batch, the one that promises most last, gives the pods back, and fills the best again
// unless it was that one.
func (d *draft) tryAll(offers []*blueprint, batch int) (lot, bool) {
	var best *blueprint
	var offered policy.Offer
	for i, b := range slices.Backward(offers) {
		mark := d.sim.Mark()
		l, offer := d.fill(b, batch)
		if best == nil || !d.style.goal.Better(offered, offer) {
			if i == 0 {
				return l, true
			}
			best, offered = b, offer
		}
		d.undo(mark)
	}
	if best == nil {
		return lot{}, false
	}
	l, _ := d.fill(best, batch)
	return l, true
}

// share is how much worth each machine of a family gets where pods that need one each are spread over so many of them.
func (d *draft) share(of *camp) float64 {
	c := d.crowd
	apart, all := c.apart(of), 0
	for _, other := range c.camps {
		all += c.apart(other)
	}
	if apart == 0 {
		return math.Inf(1)
	}
	return of.worth/float64(apart) + d.plainWorth()/float64(all)
}

// plainWorth is of the pods that are left and may be anywhere.
func (d *draft) plainWorth() float64 {
	sum := 0.0
	for _, i := range d.plain {
		sum += d.quote.worth[i] * float64(d.left[i])
	}
	return sum
}

// apart is how many machines of a family it takes at least, since no two pods of a like may share one.
func (c *assembly) apart(of *camp) int {
	most := 0
	for like, lonely := range c.lonely {
		if lonely {
			most = max(most, of.likes[like])
		}
	}
	return most
}

// standEmpty makes machines places that carry no social pod: they are domains, too.
func (d *draft) standEmpty(f *family, machines int) *simulation.Place {
	var last *simulation.Place
	for range machines {
		last = d.sim.Open(d.campOf(f).model)
	}
	return last
}
