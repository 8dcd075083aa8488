package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// class is what all pods have in common that every machine answers alike.
type class struct {
	id   int
	ask  *capacity.Ask
	sim  *simulation.Class
	need vector
	// size is the class's share of the resource it takes most of, of the largest machine there is.
	size float64
	// social says that rules about other pods judge or count these pods: they are placed one by one.
	social bool
	// label is what rules see of the pods; classes that are alike are judged and counted alike.
	label simulation.Population
	like  int
}

// batch is the pods of one class and one priority that have no place yet, in the order of the shortfalls.
type batch struct {
	class    *class
	plain    *class // the class without the preferences that it insists on now; nil where it insists on none
	priority int32
	late     bool // the last plan did not get to them
	vain     bool // the last plan did not get to all, and had nothing for these
	sought   bool // they were tried on all room that is there
	pods     []*capacity.Shortfall
}

// classify finds the classes of all shortfalls, in the order in which they come.
func classify(sim *simulation.Simulation, shortfalls []*capacity.Shortfall) (map[*simulation.Class]*class, kinds) {
	var classes []*class
	known := map[*simulation.Class]*class{}
	for _, s := range shortfalls {
		of := sim.Class(s.Pod)
		if known[of] == nil {
			c := &class{id: len(classes), ask: s.Pod.Ask, sim: of, label: sim.Population(s.Pod)}
			known[of] = c
			classes = append(classes, c)
		}
	}
	k, likes := kindsOf(classes), map[string]int{}
	for _, c := range classes {
		c.need = k.from(&c.ask.Requests)
		c.social = !c.sim.Plain() || c.sim.Counted()
		if c.social {
			c.like = likeness(c, likes)
		}
	}
	return known, k
}

// likeness numbers what tells social classes apart but for resources. Ports and volumes are the pods' own.
func likeness(c *class, known map[string]int) int {
	text := c.sim.Likeness()
	if len(c.ask.Ports) > 0 || c.sim.HasVolumes() {
		text += fmt.Sprintf(" %d", c.id)
	}
	n, found := known[text]
	if !found {
		n = len(known)
		known[text] = n
	}
	return n
}

// group sorts the shortfalls into batches: by falling priority, then by falling size, then by age. While plans do not get
// to all pods, those that the last one had nothing for come last, whatever their priority: they would use up the effort of
// every plan, and no other pod would ever get anything.
func (p *planner) group(classes map[*simulation.Class]*class) []*batch {
	type key struct {
		class    *class
		priority int32
		late     bool
		vain     bool
	}
	someLate := slices.ContainsFunc(p.v.Shortfalls, func(s *capacity.Shortfall) bool { return s.Late })
	largest := p.largest()
	p.market.most = largest
	known := map[key]*batch{}
	var batches []*batch
	for _, s := range p.v.Shortfalls {
		k := key{classes[p.sim.Class(s.Pod)], s.Pod.Priority, s.Late, s.Vain && someLate}
		b := known[k]
		if b == nil {
			k.class.size = dominantShare(k.class.need, largest)
			b = &batch{class: k.class, priority: k.priority, late: k.late, vain: k.vain}
			known[k] = b
			batches = append(batches, b)
		}
		b.pods = append(b.pods, s)
	}
	slices.SortStableFunc(batches, func(a, b *batch) int {
		return cmp.Or(compareBools(a.vain, b.vain), cmp.Compare(b.priority, a.priority), compareBools(b.late, a.late), cmp.Compare(b.class.size, a.class.size))
	})
	return batches
}

// anySpread says whether any pod has a topology spread constraint that must hold.
func anySpread(shortfalls []*capacity.Shortfall) bool {
	return slices.ContainsFunc(shortfalls, func(s *capacity.Shortfall) bool { return s.Pod.Ask.Rules.Spreads() })
}

func priorities(shortfalls []*capacity.Shortfall) []int32 {
	out := make([]int32, len(shortfalls))
	for i, s := range shortfalls {
		out[i] = s.Pod.Priority
	}
	return out
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// largest is the most of each resource that any machine offers; nodes count only where no pool exists.
func (p *planner) largest() vector {
	most, found := make(vector, len(p.market.kinds)), false
	for _, v := range p.market.vendors {
		for _, b := range v.models() {
			most.atLeast(b.offered)
			found = true
		}
		most.atLeast(v.above)
	}
	if found {
		return most
	}
	for _, pl := range p.open {
		most.atLeast(p.market.kinds.from(&pl.Node.Allocatable))
	}
	return most
}

// smallestSize keeps sizes above zero where a pod asks for nothing that is known.
const smallestSize = 1e-6

func dominantShare(part, of vector) float64 {
	size := smallestSize
	for i, whole := range of {
		if part[i] > 0 && whole > 0 {
			size = max(size, float64(part[i])/float64(whole))
		}
	}
	return size
}
