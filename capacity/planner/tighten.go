package planner

import (
	"cmp"
	"slices"

	"github.com/muster-sh/muster/capacity/amount"
)

// tightening makes machines of a draft smaller: a machine is rounded up to the next size on sale, and what that wastes of
// one can be filled by the others, where each has a little room left. Pods are moved and swapped between two machines
// until one of them needs the next smaller size only. Nothing is lost: no pod changes its tier, no machine grows.
type tightening struct {
	*draft
	rooms []vector // of each lot: what is left free
	looks int      // pairs of pods that may still be looked at
	moves []swap   // for the machine that is being made smaller
}

// swap is a pod that left a lot for another, and one that came back for it, if any.
type swap struct{ from, to, gone, back int }

// nobody comes back.
const nobody = -1

// Beyond so many machines the rounding of one is too small a part of the cost, beyond so many pairs it takes too long.
const (
	mostTightened = 64
	mostLooks     = 300_000
)

// tighten works on drafts without pods that others see: those would have to be judged anew at every move.
func (d *draft) tighten() {
	if d.crowd != nil || d.bill.Machines > mostTightened || len(d.lots) == 0 {
		return
	}
	d.split()
	t := &tightening{draft: d, looks: mostLooks}
	for i := range d.lots {
		t.rooms = append(t.rooms, d.roomOf(&d.lots[i]))
	}
	for again := true; again && t.looks > 0; {
		again = false
		for i := range d.lots {
			again = t.shrinkOne(i) || again
		}
	}
	for i := range d.lots {
		l := &d.lots[i]
		l.packed = slices.DeleteFunc(l.packed, func(p packed) bool { return p.pods == 0 })
	}
}

// split makes every machine a lot of its own.
func (d *draft) split() {
	var lots []lot
	for _, l := range d.lots {
		for range l.machines {
			one := l
			one.machines, one.packed = 1, slices.Clone(l.packed)
			lots = append(lots, one)
		}
	}
	d.lots = lots
}

func (d *draft) roomOf(l *lot) vector {
	room := slices.Clone(l.free)
	for _, p := range l.packed {
		room.take(d.batches[p.batch].class.need, p.pods)
	}
	return room
}

// shrinkOne makes a machine smaller if the others can take what is too much for the next size.
func (t *tightening) shrinkOne(i int) bool {
	l := &t.lots[i]
	for _, small := range t.smaller(l.blueprint) {
		if !t.mayBe(small, l) {
			continue
		}
		room := slices.Clone(t.rooms[i])
		for k := range room {
			room[k] -= l.free[k] - small.free[k]
		}
		if t.relieve(i, small, room) {
			t.bill.Cost += small.Cost - l.Cost
			l.blueprint, t.rooms[i] = small, room
			return true
		}
	}
	return false
}

// mayBe says whether a machine may take the place of a lot's: nobody picked the larger one by its name, and no limit on
// resources is nearer than before.
func (t *tightening) mayBe(small *blueprint, l *lot) bool {
	if len(l.vendor.pool.Spec.Limits.Resources) > 0 && !l.offered.covers(small.offered) {
		return false
	}
	return small.usable() && !slices.ContainsFunc(l.packed, func(p packed) bool { return t.batches[p.batch].class.ask.ByName })
}

// smaller are the next cheaper machines of the same family: of a range one step less of each resource.
func (d *draft) smaller(b *blueprint) []*blueprint {
	if b.vendor.sizes == nil {
		for i := len(b.sizes) - 1; i >= 0; i-- {
			if other := b.sizes[i]; other.Cost < b.Cost && other.Extra == b.Extra {
				return b.sizes[i : i+1]
			}
		}
		return nil
	}
	machine, out := amount.Of(b.shape.Resources), []*blueprint(nil)
	for _, less := range [][2]int64{{machine.MilliCPU - 1, machine.Memory}, {machine.MilliCPU, machine.Memory - 1}} {
		if shape, ok := b.vendor.sizes.Largest(less[0], less[1]); ok {
			if other := b.vendor.size(shape); other.Cost < b.Cost {
				out = append(out, other)
			}
		}
	}
	return out
}

// relieve moves pods off a lot until no kind is short in the room that a smaller machine would leave, or undoes it all.
func (t *tightening) relieve(i int, small *blueprint, room vector) bool {
	t.moves = t.moves[:0]
	for {
		kind := shortest(room, small.free)
		if kind < 0 {
			return true
		}
		best, found := swap{}, false
		if t.spare(i, kind) >= -room[kind] {
			best, found = t.bestSwap(i, kind, room)
		}
		if !found {
			break
		}
		t.do(best, room, 1)
		t.moves = append(t.moves, best)
	}
	for _, s := range slices.Backward(t.moves) {
		t.do(s, room, -1)
	}
	return false
}

// shortest is the kind of which most is lacking for the size of the machine, -1 where none is.
func shortest(room, of vector) int {
	kind, most := -1, 0.0
	for k, left := range room {
		if lack := -float64(left) / float64(max(of[k], 1)); lack > most {
			kind, most = k, lack
		}
	}
	return kind
}

// spare is what all machines but one have left of a kind.
func (t *tightening) spare(but, kind int) int64 {
	sum := int64(0)
	for j, room := range t.rooms {
		if j != but && t.lots[j].vendor.tier == t.lots[but].vendor.tier {
			sum = amount.Sum(sum, max(room[kind], 0))
		}
	}
	return sum
}

// fewLooks is how many pods are tried for one that comes back, from the largest on that there is room for.
const fewLooks = 8

// bestSwap takes most of a kind off a machine, or as much as it lacks.
func (t *tightening) bestSwap(from, kind int, room vector) (best swap, found bool) {
	most, cargo := int64(0), t.byNeed(from, kind)
	try := func(to, back int) {
		limit := t.rooms[to][kind] + t.need(back, kind)
		at, _ := slices.BinarySearchFunc(cargo, limit, func(batch int, limit int64) int { return cmp.Compare(limit, t.need(batch, kind)) })
		for n := at; n < min(at+fewLooks, len(cargo)) && most < -room[kind]; n++ {
			s, gain := swap{from, to, cargo[n], back}, t.need(cargo[n], kind)-t.need(back, kind)
			if gain <= most {
				return
			}
			if t.looks--; t.possible(s, room) {
				best, most, found = s, gain, true
				return
			}
		}
	}
	for to := range t.lots {
		if to == from || t.lots[to].vendor.tier != t.lots[from].vendor.tier {
			continue
		}
		try(to, nobody)
		for _, p := range t.lots[to].packed {
			if t.looks > 0 && p.pods > 0 {
				try(to, p.batch)
			}
		}
	}
	return best, found
}

// byNeed are the batches on a machine, those first that take most of a kind.
func (t *tightening) byNeed(i, kind int) []int {
	var out []int
	for _, p := range t.lots[i].packed {
		if p.pods > 0 {
			out = append(out, p.batch)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(t.need(b, kind), t.need(a, kind)) })
	return out
}

func (t *tightening) need(batch, kind int) int64 {
	if batch == nobody {
		return 0
	}
	return t.batches[batch].class.need[kind]
}

// possible says whether both machines have room and admit what comes. The one that is made smaller may lack what it lacks
// already, but no more.
func (t *tightening) possible(s swap, room vector) bool {
	for k := range room {
		gone, back := t.need(s.gone, k), t.need(s.back, k)
		if t.rooms[s.to][k]+back < gone || room[k]+gone-back < min(room[k], 0) {
			return false
		}
	}
	return t.welcome(s.gone, s.to) && (s.back == nobody || t.welcome(s.back, s.from))
}

// welcome says whether a machine admits a pod. One that picks machines by name stays where it is.
func (t *tightening) welcome(batch, on int) bool {
	class := t.batches[batch].class
	return !class.ask.ByName && t.lots[on].admits(class)
}

// do makes a swap, or undoes it where n is -1.
func (t *tightening) do(s swap, room vector, n int) {
	for _, m := range []struct{ batch, n int }{{s.gone, n}, {s.back, -n}} {
		if m.batch == nobody {
			continue
		}
		need := t.batches[m.batch].class.need
		room.put(need, m.n)
		t.rooms[s.to].take(need, m.n)
		t.lots[s.from].change(m.batch, -m.n)
		t.lots[s.to].change(m.batch, m.n)
	}
}

// change packs n more pods of a batch; fewer where n is negative.
func (l *lot) change(batch, n int) {
	for i := range l.packed {
		if l.packed[i].batch == batch {
			l.packed[i].pods += n
			return
		}
	}
	l.packed = append(l.packed, packed{batch, n})
}
