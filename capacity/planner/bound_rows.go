package planner

import (
	"fmt"
	"math"
	"slices"

	"github.com/muster-sh/muster/capacity"
)

// party is pods that the same families admit, leaving room aside.
type party struct {
	admitted []bool // by family
	asks     []*wanted
	// apart counts pods of which no two can share a machine, by what keeps them apart.
	apart map[string]int
}

// wanted is pods with one ask.
type wanted struct {
	party *party
	need  vector
	count int
}

// add takes in a pod that the plan buys a machine for.
func (b *floor) add(pod *capacity.Pod) {
	a := pod.Ask
	known := b.asks[a.Signature]
	if known == nil {
		known = &wanted{party: b.partyOf(a), need: b.market.kinds.from(&a.Requests)}
		b.asks[a.Signature] = known
		known.party.asks = append(known.party.asks, known)
	}
	known.count++
	for _, group := range a.Rules.Solitary(pod.Namespace, pod.Labels) {
		known.party.apart[group]++
	}
	for _, p := range a.Ports {
		known.party.apart[fmt.Sprintf("port %s %s %d", p.Protocol, p.IP, p.Port)]++
	}
}

// partyOf is the party of an ask. Pods that name machines may go to any: the names of those to come are not known.
func (b *floor) partyOf(a *capacity.Ask) *party {
	admitted := make([]bool, len(b.families))
	for i, f := range b.families {
		admitted[i] = a.ByName || capacity.Admits(a, f.probe).Fits
	}
	for _, c := range b.parties {
		if slices.Equal(c.admitted, admitted) {
			return c
		}
	}
	c := &party{admitted: admitted, apart: map[string]int{}}
	b.parties = append(b.parties, c)
	return c
}

// machines are those of certain families.
func (b *floor) machines(families []bool) []bool {
	set := make([]bool, len(b.sale))
	for i, m := range b.sale {
		set[i] = families[slices.Index(b.families, m.family)]
	}
	return set
}

// row of the program: the machines bought must offer so much together.
type row struct {
	need   float64
	offers []float64 // by machine on sale
}

// mostParties bounds the sets of machines that rows are made for; pods beyond it count as if all machines admitted them.
const mostParties = 16

// rows are what must be covered: by all machines, by those that admit a party (for it and all parties that are choosier),
// and by those that are large enough for the larger pods.
func (b *floor) rows() []row {
	every := slices.Repeat([]bool{true}, len(b.families))
	rows := b.within(every).rows(b, b.machines(every))
	for _, c := range b.parties[:min(len(b.parties), mostParties)] {
		among, set := b.within(c.admitted), b.machines(c.admitted)
		if slices.Contains(c.admitted, false) {
			rows = append(rows, among.rows(b, set)...)
		}
		for kind := atCPU; kind <= atMemory; kind++ {
			rows = append(rows, b.sized(among, set, kind)...)
		}
	}
	return rows
}

// cargo is pods that only certain machines can carry.
type cargo struct {
	asks  []*wanted
	apart map[string]int
}

// within is the pods of all parties that no other families admit.
func (b *floor) within(families []bool) cargo {
	s := cargo{apart: map[string]int{}}
	for _, c := range b.parties {
		if !subset(c.admitted, families) {
			continue
		}
		s.asks = append(s.asks, c.asks...)
		for group, n := range c.apart {
			s.apart[group] += n
		}
	}
	return s
}

func subset(part, of []bool) bool {
	for i := range part {
		if part[i] && !of[i] {
			return false
		}
	}
	return true
}

// rows cover the pods of a cargo by machines of a set: every kind, and the number of machines, which is whole.
func (s cargo) rows(b *floor, set []bool) []row {
	machines := 0
	for _, n := range s.apart {
		machines = max(machines, n)
	}
	rows := make([]row, 0, len(b.market.kinds)+1)
	for kind := range b.market.kinds {
		r, most := row{offers: make([]float64, len(set))}, 0.0
		for _, a := range s.asks {
			r.need += float64(max(a.need[kind], 0)) * float64(a.count)
		}
		for i, m := range b.sale {
			if set[i] {
				r.offers[i] = float64(max(m.room[kind], 0))
				most = max(most, r.offers[i])
			}
		}
		if r.need > 0 && most > 0 {
			machines = max(machines, int(math.Ceil(r.need/most*(1-slack))))
			rows = append(rows, r)
		}
	}
	r := row{need: float64(machines), offers: make([]float64, len(set))}
	for i := range set {
		if set[i] {
			r.offers[i] = 1
		}
	}
	if !slices.Contains(set, true) {
		return rows
	}
	return append(rows, r)
}

// mostSteps bounds the rows for larger pods, for each party and kind.
const mostSteps = 4

// sized are the rows of pods that are too large for some shapes of a set, by the machines that are left. The corners of a
// range always are, as they stand for all of its sizes.
func (b *floor) sized(among cargo, set []bool, kind int) []row {
	largest := int64(0)
	for _, a := range among.asks {
		largest = max(largest, a.need[kind])
	}
	var steps []int64
	for i, m := range b.sale {
		if set[i] && m.vendor.sizes == nil && m.room[kind] < largest {
			steps = append(steps, m.room[kind])
		}
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	var rows []row
	for i := range min(len(steps), mostSteps) {
		step := steps[len(steps)-1-i*len(steps)/min(len(steps), mostSteps)]
		larger := cargo{asks: slices.DeleteFunc(slices.Clone(among.asks), func(a *wanted) bool { return a.need[kind] <= step })}
		left := slices.Clone(set)
		for j, m := range b.sale {
			left[j] = left[j] && (m.vendor.sizes != nil || m.room[kind] > step)
		}
		rows = append(rows, larger.rows(b, left)...)
	}
	return rows
}
