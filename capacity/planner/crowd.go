package planner

import (
	"slices"

	"github.com/muster-sh/muster/capacity/simulation"
)

// assembly is where the pods of social batches stand while a draft is made. Each first gets an imagined machine of its
// own in a family that all rules let it go to, in the family's camp: so spread and affinity over zones are settled before
// anything is packed, and every rule is judged with all pods in sight. Packing then moves pods from the camps onto the
// machines that are bought, within the family.
type assembly struct {
	sim      *simulation.Simulation
	start    simulation.Mark
	camps    []*camp
	by       map[*family]*camp
	unsited  []int         // of each batch: pods that no family takes as things stand
	clingy   []int         // batches that had such pods when all were scattered
	standing map[stand]int // pods of each population in each family

	lonely  []bool            // by likeness: no two such pods may share a machine
	camp    *camp             // of the machine that is being filled
	bin     *simulation.Place // that machine, nil until a social pod comes
	fill    int               // its number
	moved   []step
	refused []int // by likeness: the last fill that refused such pods
}

// camp is a family's part of an assembly: its pods that have no machine yet. They stand on a field, which counts for as
// many machines as there are pods; a pod with volumes stands on a raft, an imagined machine that is only its own.
type camp struct {
	*family
	model  *simulation.Model
	field  *simulation.Place
	rafts  map[int]*simulation.Place // by batch: none of these has two pods
	pods   []int                     // by batch
	likes  []int                     // by likeness
	worth  float64                   // of all of them
	weight float64                   // of all that ever stood here
	fits   []verdict                 // by class: whether a machine of the family holds such a pod
}

// stand is a population in a family.
type stand struct {
	*family
	simulation.Population
}

// step is a pod that left its raft or field, or the unsited pods, for the machine that is being filled.
type step struct {
	batch int
	raft  *simulation.Place
}

// gathering is a new assembly; nil where no batch is social.
func (d *draft) gathering() *assembly {
	if !anySocial(d.batches) {
		return nil
	}
	c := &assembly{
		sim: d.sim, start: d.sim.Mark(), by: map[*family]*camp{}, unsited: make([]int, len(d.batches)), standing: map[stand]int{},
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

func anySocial(batches []*batch) bool {
	return slices.ContainsFunc(batches, func(b *batch) bool { return b.class.social && len(b.pods) > 0 })
}

// scatter gives each unsited pod a place in one of the camps of a tier: pods that no rule restricts first, then the
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
	camps := d.campsOf(sellers)
	for order, placed := slices.Concat(free, ruled), 1; placed > 0; {
		placed = 0
		for _, i := range order {
			for c.unsited[i] > 0 && !c.sim.HalfSpent() && d.site(i, camps) {
				placed++
			}
		}
	}
	c.clingy = c.clingy[:0]
	for i, n := range c.unsited {
		if n > 0 {
			c.clingy = append(c.clingy, i)
		}
	}
}

// families are those that may be bought from. A pool that has come to its limit sells nothing any more: pods that were to be
// there are scattered anew over the others.
func (d *draft) families(sellers []*vendor) []*family {
	var out []*family
	for _, s := range sellers {
		for _, b := range s.onSale(d.budgets[s]) {
			if n := len(out); n > 0 && out[n-1] == b.family || d.budgets[s].Refuses(b.resources()) != "" {
				continue
			}
			if !slices.Contains(out, b.family) {
				out = append(out, b.family)
			}
		}
	}
	return out
}

func (d *draft) campsOf(sellers []*vendor) []*camp {
	var out []*camp
	for _, f := range d.families(sellers) {
		out = append(out, d.campOf(f))
	}
	return out
}

// campOf is the camp of a family, a new one where there was none.
func (d *draft) campOf(f *family) *camp {
	c := d.crowd
	known := c.by[f]
	if known == nil {
		known = &camp{
			family: f, model: d.sim.Model(f.probe), rafts: map[int]*simulation.Place{},
			pods: make([]int, len(d.batches)), likes: make([]int, len(c.refused)),
		}
		c.by[f] = known
		c.camps = append(c.camps, known)
	}
	return known
}

// site gives one pod of a batch a place: where fewest pods of its kind stand, then where least stands.
func (d *draft) site(batch int, camps []*camp) bool {
	c, class := d.crowd, d.batches[batch].class
	var best *camp
	var raft *simulation.Place
	for _, at := range camps {
		if best != nil && !c.lighter(at, best, class) || !at.holdsOne(class) {
			continue
		}
		p := c.berth(at, class)
		if !c.sim.Company(class.sim, p).Fits {
			c.vacate(at, p)
			continue
		}
		c.vacate(best, raft)
		best, raft = at, p
	}
	if best == nil {
		return false
	}
	c.sim.Put(class.sim, raft, 1)
	d.land(best, batch, raft)
	c.standing[stand{best.family, class.label}]++
	best.weight += class.size
	c.unsited[batch]--
	return true
}

// berth is where a pod of the class would stand in a camp. A field is opened only now: as long as nobody is there, the
// domains that its machines would be in must not count.
func (c *assembly) berth(at *camp, class *class) *simulation.Place {
	switch {
	case class.sim.HasVolumes():
		return c.sim.Open(at.model)
	case at.field != nil:
		return at.field
	}
	return c.sim.Field(at.model)
}

// vacate closes a place on which nobody came to stand.
func (c *assembly) vacate(at *camp, p *simulation.Place) {
	if p != nil && p != at.field {
		c.sim.Close(p)
	}
}

func (c *assembly) lighter(a, b *camp, class *class) bool {
	if x, y := c.standing[stand{a.family, class.label}], c.standing[stand{b.family, class.label}]; x != y {
		return x < y
	}
	return a.weight < b.weight
}

// raft is where a pod of a batch stands, nil where none is in the camp.
func (c *camp) raft(batch int) *simulation.Place {
	switch {
	case c.pods[batch] == 0:
		return nil
	case c.rafts[batch] != nil:
		return c.rafts[batch]
	}
	return c.field
}

// land counts a pod that came to a camp, lift one that left it.
func (d *draft) land(at *camp, batch int, raft *simulation.Place) {
	at.pods[batch]++
	at.likes[d.batches[batch].class.like]++
	at.worth += d.quote.worth[batch]
	if raft.IsField() {
		at.field = raft
	} else {
		at.rafts[batch] = raft
	}
}

func (d *draft) lift(at *camp, batch int) {
	at.pods[batch]--
	at.likes[d.batches[batch].class.like]--
	at.worth -= d.quote.worth[batch]
	if len(at.rafts) > 0 {
		delete(at.rafts, batch)
	}
}

// holdsOne says whether the family has a machine that takes a pod of the class, others left aside.
func (c *camp) holdsOne(class *class) bool {
	if class.id >= len(c.fits) {
		c.fits = append(c.fits, make([]verdict, class.id+1-len(c.fits))...)
	}
	if c.fits[class.id] == unjudgedYet {
		c.fits[class.id] = refusedBy
		if slices.ContainsFunc(c.biggest(), func(b *blueprint) bool { return b.takes(class) }) {
			c.fits[class.id] = takenBy
		}
	}
	return c.fits[class.id] == takenBy
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

// anyUnsited says whether any pod has no place in a camp.
func (c *assembly) anyUnsited() bool {
	return slices.ContainsFunc(c.unsited, func(n int) bool { return n > 0 })
}

// at is how many pods of a batch could join the machine that is being filled.
func (c *assembly) at(batch int) int { return c.unsited[batch] + c.camp.pods[batch] }

// strand breaks up the camps: their pods are unsited again.
func (d *draft) strand() {
	c := d.crowd
	for _, camp := range c.camps {
		for i, n := range camp.pods {
			if raft := camp.raft(i); raft != nil {
				c.sim.Take(d.batches[i].class.sim, raft, n)
				c.vacate(camp, raft)
				c.unsited[i] += n
			}
		}
		if camp.field != nil {
			c.sim.Close(camp.field)
		}
	}
	c.camps, c.by = nil, map[*family]*camp{}
}
