package planner

import (
	"math"
	"slices"
	"strconv"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// floor works out what the pods of a plan cost at the least, if machines could be bought in fractions and pods be cut in
// pieces: a linear program that covers what they ask for together. Each of its rows says that certain machines must be
// bought until they offer, together, what certain pods need that go nowhere else; no real plan can break one. Limits and
// the weights of pools are left out of it, and so are most rules about other pods, so the bound may be out of reach.
type floor struct {
	market *market
	// sale is what could be bought: fixed shapes, and of a range the corners, of which every other size is a mean.
	sale     []machine
	families []*family
	wares    map[*family][]*blueprint
	// parties are the pods, by the families that admit them.
	parties []*party
	asks    map[string]*wanted // by signature
}

// machine is one that could be bought.
type machine struct {
	*blueprint
	room vector
}

// lowerBound is the least cost for one hour at which the pods of the plan's machines could be carried, and the minima of
// pools be kept that the plan keeps.
func (p *planner) lowerBound() float64 {
	if len(p.plan.Creates) == 0 {
		return 0
	}
	b := floor{market: p.market, asks: map[string]*wanted{}, wares: map[*family][]*blueprint{}}
	for _, s := range p.market.vendors {
		b.offer(s)
	}
	bought := map[string]int32{}
	for _, c := range p.plan.Creates {
		bought[c.Claim.Spec.Pool]++
		for _, pod := range c.Pods {
			b.add(pod)
		}
	}
	b.list()
	rows := b.rows()
	for _, s := range p.market.vendors {
		rows = append(rows, b.minimum(s, bought[s.pool.Name]))
	}
	return b.cover(rows)
}

// list lists what is on sale. Pools often sell the same shapes: of families that do, to the same pods, one is enough.
func (b *floor) list() {
	likes := b.likes()
	for i, f := range b.families {
		twin := func(of *family) bool { return likes[of] == likes[f] && b.sellAlike(of, f) }
		if slices.ContainsFunc(b.families[:i], twin) {
			continue
		}
		b.sale = slices.Grow(b.sale, len(b.wares[f]))
		for _, o := range b.wares[f] {
			b.sale = append(b.sale, machine{o, b.room(o)})
		}
	}
}

// sellAlike says whether two families sell machines of the same room at the same cost.
func (b *floor) sellAlike(f, g *family) bool {
	same := func(m, n *blueprint) bool { return m.Cost == n.Cost && slices.Equal(m.offered, n.offered) }
	return !b.market.daemonsByName && f.daemons.Equal(g.daemons) && slices.EqualFunc(b.wares[f], b.wares[g], same)
}

// likes numbers the families by what rows tell apart of them: which parties they admit, whether they are of a range, and
// of which pool if it has a minimum. Those of one number are alike.
func (b *floor) likes() map[*family]int {
	numbers, known := make(map[*family]int, len(b.families)), map[string]int{}
	for i, f := range b.families {
		var text []byte
		for _, c := range b.parties {
			text = strconv.AppendBool(text, c.admitted[i])
		}
		if text = strconv.AppendBool(text, f.vendor.sizes != nil); f.vendor.pool.Spec.Limits.MinNodes > 0 {
			text = append(text, f.vendor.pool.Name...)
		}
		if _, seen := known[string(text)]; !seen {
			known[string(text)] = len(known)
		}
		numbers[f] = known[string(text)]
	}
	return numbers
}

// offer lists what a pool could sell. Nobody can buy from one that may not grow now.
func (b *floor) offer(s *vendor) {
	if s.stop.Code != "" {
		return
	}
	offers := s.fixed
	if s.sizes != nil {
		offers = s.corners()
	}
	for _, o := range offers {
		if !o.usable() && !nonNegative(b.room(o)) {
			continue
		}
		if len(b.wares[o.family]) == 0 {
			b.families = append(b.families, o.family)
		}
		b.wares[o.family] = append(b.wares[o.family], o)
	}
}

// corners are the sizes of a range with the least and the most of each resource. Cost and room rise evenly between them,
// so that no other size offers more for its cost than a mixture of these. That holds for what the template promises; what
// was learned is less.
func (s *vendor) corners() []*blueprint {
	largest, ok := s.sizes.Largest(math.MaxInt64, math.MaxInt64)
	if !ok {
		return nil
	}
	most := amount.Of(largest.Resources)
	var corners []*blueprint
	for _, cpu := range []int64{0, most.MilliCPU} {
		for _, memory := range []int64{0, most.Memory} {
			if shape, ok := s.sizes.Smallest(cpu, memory); ok {
				corners = append(corners, s.blueprint(shape, capacity.GoodOf(shape), nil))
			}
		}
	}
	return corners
}

// room is what a machine has for pods. What a DaemonSet takes only of machines with certain names or sizes is not taken
// off, since another machine of the pool may be without it.
func (b *floor) room(o *blueprint) vector {
	daemons := o.family.daemons
	if b.market.daemonsByName {
		daemons = amount.Resources{}
		for _, d := range b.market.daemons {
			if !d.Ask.ByName && d.Matches(o.family.probe) {
				daemons.Add(d.Ask.Requests)
			}
		}
	}
	room := b.market.vectors.next()
	copy(room, o.offered)
	room.less(b.market.kinds.of(&daemons, b.market.spare))
	return room
}

func nonNegative(v vector) bool {
	for _, n := range v[:atPods+1] {
		if n < 0 {
			return false
		}
	}
	return true
}

// minimum is the row of machines that keep the pool's minimum.
func (b *floor) minimum(s *vendor, bought int32) row {
	before := s.live - bought
	r := row{need: float64(min(bought, max(0, s.pool.Spec.Limits.MinNodes-before))), offers: make([]float64, len(b.sale))}
	for i, m := range b.sale {
		if m.vendor == s {
			r.offers[i] = 1
		}
	}
	return r
}

// sum notes what the plan costs, and what it could not have been had for less.
func (p *planner) sum() {
	for _, c := range p.plan.Creates {
		p.plan.Cost += c.Cost
	}
	p.plan.LowerBound = p.lowerBound()
}
