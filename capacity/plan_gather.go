package capacity

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/policy"
)

// repelling finds out which pods share a machine with none of their like: one of two that stand apart is tried beside
// the other.
func (d *draft) repelling() []bool {
	c := d.crowd
	lonely, known := make([]bool, len(c.refused)), make([]bool, len(c.refused))
	for _, f := range c.families {
		first := make([]*Place, len(c.refused))
		for i, rafts := range c.rafts[f] {
			class := d.batches[i].class
			for _, raft := range rafts {
				if known[class.like] {
					break
				}
				if first[class.like] == nil {
					first[class.like] = raft
					continue
				}
				c.sim.Take(class.sim, raft, 1)
				lonely[class.like] = !c.sim.Company(class.sim, first[class.like]).Fits
				c.sim.Put(class.sim, raft, 1)
				known[class.like] = true
			}
		}
	}
	return lonely
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
	families := slices.Clone(c.families)
	slices.SortStableFunc(families, func(a, b *family) int {
		return cmp.Compare(len(c.rafts[b][batch]), len(c.rafts[a][batch]))
	})
	for _, f := range families {
		if len(c.rafts[f][batch]) == 0 {
			break
		}
		if l, found := d.compare(d.promising(sellers, batch, f), batch); found {
			return l, true
		}
	}
	return lot{}, false
}

// tryAll fills each machine for a batch, gives the pods back, and fills the best again.
func (d *draft) tryAll(offers []*blueprint, batch int) (lot, bool) {
	var best *blueprint
	var offered policy.Offer
	for _, b := range offers {
		if len(offers) == 1 {
			best = b
			break
		}
		mark := d.sim.Mark()
		_, offer := d.fill(b, batch)
		d.undo(b.family, mark)
		if best == nil || d.style.goal.Better(offer, offered) {
			best, offered = b, offer
		}
	}
	if best == nil {
		return lot{}, false
	}
	l, _ := d.fill(best, batch)
	return l, true
}

// share is how much worth each machine of a family gets where pods that need one each are spread over so many of them.
func (d *draft) share(f *family) float64 {
	c := d.crowd
	apart, all := c.apart(d, f), 0
	for _, other := range c.families {
		all += c.apart(d, other)
	}
	if apart == 0 {
		return d.quote.value(d.quote.left)
	}
	free, own := 0.0, 0.0
	for i, b := range d.batches {
		if b.class.social {
			own += d.quote.worth[i] * float64(c.at(f, i))
		} else {
			free += d.quote.worth[i] * float64(d.left[i])
		}
	}
	return own/float64(apart) + free/float64(all)
}

// apart is how many machines of a family it takes at least, since no two pods of a like may share one.
func (c *assembly) apart(d *draft, f *family) int {
	count, most := make([]int, len(c.lonely)), 0
	for i, rafts := range c.rafts[f] {
		if class := d.batches[i].class; class.social && c.lonely[class.like] {
			count[class.like] += len(rafts)
			most = max(most, count[class.like])
		}
	}
	return most
}

// standEmpty makes machines places that carry no social pod: they are domains, too.
func (d *draft) standEmpty(f *family, machines int) *Place {
	var last *Place
	for range machines {
		last = d.sim.Open(d.crowd.model(f))
	}
	return last
}
