package planner

import (
	"slices"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// Of the machines of one family, the cheapest that carries all pods which wait is the ceiling: whatever a dearer one would
// carry, it carries too. Most plans are for a few pods, and hundreds of shapes are dearer.

// stock draws the machines of a pool's shapes, those of each line from the cheapest up to its ceiling.
func (s *vendor) stock(t *capacity.Template) {
	m, fixed, full := s.market, make([]*blueprint, len(t.Goods)), make([]bool, len(t.Lines))
	all := m.picky || len(s.pool.Spec.Limits.Resources) > 0 // then a dearer machine may do where the ceiling does not
	shapes := s.pool.Spec.Template.Shapes
	for _, i := range t.Lines {
		s.familyOf(shapes[i], t.Goods[i])
	}
	s.above = make(vector, len(m.kinds))
	var drawn []blueprint
	for _, i := range t.ByCost {
		g := t.Goods[i]
		if full[g.Line] {
			s.above.atLeast(m.kinds.of(&g.Machine, m.spare))
			continue
		}
		if len(drawn) == 0 {
			drawn = make([]blueprint, drawnAtOnce)
		}
		b := &drawn[0]
		drawn = drawn[1:]
		s.draw(b, shapes[i], g, s.experience)
		if s.resting(b.shape) != nil {
			s.off = append(s.off, b)
			continue
		}
		fixed[i], b.sizes = b, append(b.sizes, b)
		full[g.Line] = !all && b.usable() && b.free.holds(m.wanted)
	}
	overhead := amount.Of(s.pool.Spec.Template.Overhead)
	s.above.less(m.kinds.of(&overhead, m.spare))
	s.fixed = slices.DeleteFunc(fixed, func(b *blueprint) bool { return b == nil })
}

// drawnAtOnce is for how many blueprints memory is taken at a time: a pool may have hundreds, and most plans draw few.
const drawnAtOnce = 64

// sum is what all pods that wait ask for together.
func (k kinds) sum(shortfalls []*capacity.Shortfall) vector {
	all, one := make(vector, len(k)), make(vector, len(k))
	for _, s := range shortfalls {
		for i, n := range k.of(&s.Pod.Ask.Requests, one) {
			all[i] = amount.Sum(all[i], n)
		}
	}
	return all
}
