package capacity

import (
	"slices"
)

// assembly is where the pods of social batches stand while a draft is made. Each first gets an imagined machine of its own,
// a raft, in a family that all rules let it go to: so spread and affinity over zones are settled before anything is
// packed, and every rule is judged with all pods in sight. Packing then moves pods from their rafts onto the machines
// that are bought, within the family.
type assembly struct {
	sim      *Simulation
	start    Mark
	families []*family
	rafts    map[*family][][]*Place // by batch
	unsited  []int                  // of each batch: pods that no family takes as things stand
	standing map[stand]int          // pods of each population in each family
	weight   map[*family]float64    // worth of the pods that stand there
	models   map[*family]*Model

	lonely  []bool // by likeness: no two such pods may share a machine
	bin     *Place // the machine that is being filled, nil until a social pod comes
	fill    int    // its number
	moved   []step
	refused []int // by likeness: the last fill that refused such pods
}

// stand is a population in a family.
type stand struct {
	*family
	population
}

// step is a pod that left its raft, or the unsited pods, for the machine that is being filled.
type step struct {
	batch int
	raft  *Place
}

// gathering is a new assembly; nil where no batch is social.
func (d *draft) gathering() *assembly {
	if !slices.ContainsFunc(d.batches, func(b *batch) bool { return b.class.social && len(b.pods) > 0 }) {
		return nil
	}
	c := &assembly{
		sim: d.sim, start: d.sim.Mark(), rafts: map[*family][][]*Place{}, unsited: make([]int, len(d.batches)),
		standing: map[stand]int{}, weight: map[*family]float64{}, models: map[*family]*Model{},
	}
	likes := 0
	for i, b := range d.batches {
		if b.class.social {
			c.unsited[i] = len(b.pods)
			likes = max(likes, b.class.like+1)
		}
	}
	c.refused = make([]int, likes)
	return c
}

// scatter gives each unsited pod a raft in one of the families of a tier: pods that no rule restricts first, then the
// others in their order, again as long as one more of them finds a place.
func (d *draft) scatter(sellers []*vendor) {
	c := d.crowd
	var free, ruled []int
	for i, b := range d.batches {
		switch {
		case c.unsited[i] == 0 || b.class.ask.Unjudged.Code != "":
		case b.class.sim.Plain():
			free = append(free, i)
		default:
			ruled = append(ruled, i)
		}
	}
	families := d.familiesOf(sellers)
	for order, placed := slices.Concat(free, ruled), 1; placed > 0; {
		placed = 0
		for _, i := range order {
			for c.unsited[i] > 0 && d.site(i, families) {
				placed++
			}
		}
	}
}

// familiesOf are the families that may be bought from.
func (d *draft) familiesOf(sellers []*vendor) []*family {
	var out []*family
	for _, s := range sellers {
		for _, b := range s.onSale(d.budgets[s]) {
			if !slices.Contains(out, b.family) {
				out = append(out, b.family)
			}
		}
	}
	return out
}

// site gives one pod of a batch a raft: where fewest pods of its kind stand, then where least stands.
func (d *draft) site(batch int, families []*family) bool {
	c, class := d.crowd, d.batches[batch].class
	var best *family
	var raft *Place
	for _, f := range families {
		if best != nil && !c.lighter(f, best, class) || !d.holdsOne(f, class) {
			continue
		}
		p := c.sim.Open(c.model(f))
		if !c.sim.Company(class.sim, p).Fits {
			c.sim.Close(p)
			continue
		}
		if raft != nil {
			c.sim.Close(raft)
		}
		best, raft = f, p
	}
	if best == nil {
		return false
	}
	c.sim.Put(class.sim, raft, 1)
	c.put(best, batch, raft, len(d.batches))
	c.standing[stand{best, class.label}]++
	c.weight[best] += class.size
	c.unsited[batch]--
	return true
}

func (c *assembly) lighter(a, b *family, class *class) bool {
	if x, y := c.standing[stand{a, class.label}], c.standing[stand{b, class.label}]; x != y {
		return x < y
	}
	return c.weight[a] < c.weight[b]
}

// holdsOne says whether the family has a machine that takes a pod of the class, others left aside.
func (d *draft) holdsOne(f *family, class *class) bool {
	for _, b := range f.biggest() {
		if b.takes(class) {
			return true
		}
	}
	return false
}

// biggest are the family's machines, those that cost most first; of a range the largest.
func (f *family) biggest() []*blueprint {
	if f.vendor.sizes != nil {
		return f.vendor.models()
	}
	if f.byFall == nil {
		f.byFall = slices.Clone(f.sizes)
		slices.Reverse(f.byFall)
	}
	return f.byFall
}

func (c *assembly) model(f *family) *Model {
	if c.models[f] == nil {
		c.models[f] = c.sim.Model(f.probe)
	}
	return c.models[f]
}

func (c *assembly) put(f *family, batch int, raft *Place, batches int) {
	if c.rafts[f] == nil {
		c.rafts[f] = make([][]*Place, batches)
		c.families = append(c.families, f)
	}
	c.rafts[f][batch] = append(c.rafts[f][batch], raft)
}

// at is how many pods of a batch stand in a family or could join it.
func (c *assembly) at(f *family, batch int) int {
	n := c.unsited[batch]
	if rafts := c.rafts[f]; rafts != nil {
		n += len(rafts[batch])
	}
	return n
}

// strand dissolves what rafts are left: their pods are unsited again.
func (d *draft) strand() {
	c := d.crowd
	for _, f := range c.families {
		for i, rafts := range c.rafts[f] {
			for _, r := range rafts {
				c.sim.Take(d.batches[i].class.sim, r, 1)
				c.sim.Close(r)
			}
			c.unsited[i] += len(rafts)
		}
		delete(c.rafts, f)
	}
	c.families = nil
}
