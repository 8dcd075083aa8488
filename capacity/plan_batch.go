package capacity

import (
	"cmp"
	"slices"
)

// class is what all pods with one signature ask for.
type class struct {
	id   int
	ask  *Ask
	need vector
	// size is the class's share of the resource it takes most of, of the largest machine there is.
	size float64
}

// batch is the pods of one class and one priority that have no place yet, in the order of the shortfalls.
type batch struct {
	class    *class
	priority int32
	pods     []*Shortfall
}

// classify finds the classes of all shortfalls, in the order in which they come.
func classify(shortfalls []*Shortfall) ([]*class, kinds) {
	var classes []*class
	known := map[string]bool{}
	for _, s := range shortfalls {
		if a := s.Pod.Ask; !known[a.Signature] {
			known[a.Signature] = true
			classes = append(classes, &class{id: len(classes), ask: a})
		}
	}
	k := kindsOf(classes)
	for _, c := range classes {
		c.need = k.from(&c.ask.Requests)
	}
	return classes, k
}

// group sorts the shortfalls into batches: by falling priority, then by falling size, then by age.
func (p *planner) group(classes []*class) []*batch {
	type key struct {
		class    *class
		priority int32
	}
	bySignature := make(map[string]*class, len(classes))
	largest := p.largest()
	p.market.most = largest
	for _, c := range classes {
		bySignature[c.ask.Signature] = c
		c.size = dominantShare(c.need, largest)
	}
	known := map[key]*batch{}
	var batches []*batch
	for _, s := range p.v.Shortfalls {
		k := key{bySignature[s.Pod.Ask.Signature], s.Pod.Priority}
		b := known[k]
		if b == nil {
			b = &batch{class: k.class, priority: k.priority}
			known[k] = b
			batches = append(batches, b)
		}
		b.pods = append(b.pods, s)
	}
	slices.SortStableFunc(batches, func(a, b *batch) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(b.class.size, a.class.size))
	})
	return batches
}

// largest is the most of each resource that any machine offers; nodes count only where no pool exists.
func (p *planner) largest() vector {
	most, found := make(vector, len(p.market.kinds)), false
	for _, v := range p.market.vendors {
		for _, b := range v.models() {
			most.atLeast(b.offered)
			found = true
		}
	}
	if found {
		return most
	}
	for _, pl := range p.open {
		most.atLeast(p.market.kinds.from(&pl.node.Allocatable))
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
