package capacity

import (
	"cmp"
	"slices"
)

// class is what all pods with one signature ask for.
type class struct {
	id  int
	ask *Ask
	// size is the class's share of the resource it takes most of, of the largest machine there is.
	size float64
}

// batch is the pods of one class and one priority that have no place yet, in the order of the shortfalls.
type batch struct {
	class    *class
	priority int32
	pods     []*Shortfall
}

// group sorts the shortfalls into batches: by falling priority, then by falling size, then by age.
func (p *planner) group() []*batch {
	type key struct {
		signature string
		priority  int32
	}
	classes := map[string]*class{}
	known := map[key]*batch{}
	var batches []*batch
	largest := p.largest()
	for _, s := range p.v.Shortfalls {
		k := key{s.Pod.Ask.Signature, s.Pod.Priority}
		b := known[k]
		if b == nil {
			c := classes[k.signature]
			if c == nil {
				c = &class{id: len(classes), ask: s.Pod.Ask, size: dominantShare(s.Pod.Ask.Requests, largest)}
				classes[k.signature] = c
			}
			b = &batch{class: c, priority: k.priority}
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
func (p *planner) largest() Resources {
	var most Resources
	for _, v := range p.market.vendors {
		for _, b := range v.models() {
			most.atLeast(b.node.Allocatable)
		}
	}
	if !most.IsZero() {
		return most
	}
	for _, pl := range p.open {
		most.atLeast(pl.node.Allocatable)
	}
	return most
}

// atLeast raises every kind of r to that of o.
func (r *Resources) atLeast(o Resources) {
	r.MilliCPU, r.Memory = max(r.MilliCPU, o.MilliCPU), max(r.Memory, o.Memory)
	r.EphemeralStorage, r.Pods = max(r.EphemeralStorage, o.EphemeralStorage), max(r.Pods, o.Pods)
	for name, v := range o.Scalar {
		r.setScalar(name, max(r.Scalar[name], v))
	}
}

// smallestSize keeps sizes above zero where a pod asks for nothing that is known.
const smallestSize = 1e-6

func dominantShare(r, of Resources) float64 {
	size := smallestSize
	add := func(part, whole int64) {
		if part > 0 && whole > 0 {
			size = max(size, float64(part)/float64(whole))
		}
	}
	add(r.MilliCPU, of.MilliCPU)
	add(r.Memory, of.Memory)
	add(r.EphemeralStorage, of.EphemeralStorage)
	add(r.Pods, of.Pods)
	for name, v := range r.Scalar {
		add(v, of.Scalar[name])
	}
	return size
}
