package planner

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// shelf is batches whose pods are much alike, the largest first.
type shelf struct {
	batches []int
	skip    []int  // for a batch that is used up: where to look for the next
	least   vector // no pod here asks for less, of any kind
	needs   vector // of one pod of each batch, one after the other: where there are many, looking them up is most of the work
	next    int    // of the machine being filled: no batch before it fits
	taken   int    // of the machine being filled: it takes pods of the batch before this one, as far as there is room
}

// need is what a pod of the batch asks for that stands there.
func (s *shelf) need(at int) vector {
	n := len(s.least)
	return s.needs[at*n : (at+1)*n : (at+1)*n]
}

// live is the first batch of the shelf from i on that still has pods.
func (s *shelf) live(i int, left []int) int {
	end := i
	for end < len(s.batches) && left[s.batches[end]] == 0 {
		end = s.skip[end]
	}
	for i < end {
		i, s.skip[i] = s.skip[i], end
	}
	return end
}

// Where pods are of so many kinds that looking at each is dear, they are sorted onto shelves: by which of cpu and memory
// they take more of, and by size.
const (
	fewBatches = 192
	slants     = 8
	sizeSteps  = 2.0 // shelves for each doubling of the size
)

// stock puts the batches on shelves.
func (d *draft) stock() {
	byKey, sizes, sizeOf := map[[2]int]int{}, map[string]int{}, make([]int, len(d.batches))
	for i := range d.batches {
		sizeOf[i] = d.sizeOf(i, sizes)
	}
	for i := range d.batches {
		key := [2]int{sizeOf[i], -1}
		if len(sizes) > fewBatches {
			key = d.shelfOf(i)
		}
		at, found := byKey[key]
		if !found {
			at = len(d.shelves)
			byKey[key] = at
			d.shelves = append(d.shelves, shelf{})
		}
		d.shelves[at].batches = append(d.shelves[at].batches, i)
	}
	for i := range d.shelves {
		s := &d.shelves[i]
		slices.SortStableFunc(s.batches, func(a, b int) int {
			return cmp.Compare(d.batches[b].class.size, d.batches[a].class.size)
		})
		s.least = slices.Clone(d.batches[s.batches[0]].class.need)
		s.needs = make(vector, 0, len(s.batches)*len(s.least))
		for at, batch := range s.batches {
			s.skip = append(s.skip, at+1)
			s.least.atMost(d.batches[batch].class.need)
			s.needs = append(s.needs, d.batches[batch].class.need...)
		}
	}
}

// sizeOf numbers the amounts that pods ask for.
func (d *draft) sizeOf(batch int, known map[string]int) int {
	key := make([]byte, 0, 8*len(d.kinds))
	for _, n := range d.batches[batch].class.need {
		key = binary.LittleEndian.AppendUint64(key, uint64(n))
	}
	n, found := known[string(key)]
	if !found {
		n = len(known)
		known[string(key)] = n
	}
	return n
}

func (d *draft) shelfOf(batch int) [2]int {
	class := d.batches[batch].class
	need := class.need
	cpu, memory := float64(need[atCPU])/float64(max(d.most[atCPU], 1)), float64(need[atMemory])/float64(max(d.most[atMemory], 1))
	slant := 0
	if cpu+memory > 0 {
		slant = int(cpu / (cpu + memory) * (slants - 1))
	}
	return [2]int{slant, int(math.Floor(math.Log2(class.size) * sizeSteps))}
}

// restock drops the shelves that are used up, and returns the others to be looked through from their start.
func (d *draft) restock() []shelf {
	d.shelves = slices.DeleteFunc(d.shelves, func(s shelf) bool { return s.live(0, d.left) == len(s.batches) })
	d.open = append(d.open[:0], d.shelves...)
	return d.open
}

// packEvenly takes pods so that all kinds of resources run out together: off the shelf whose next pod is worth most, the
// more so the better it suits the room that is left. Of pods that are small for the machine many are taken at once.
func (d *draft) packEvenly(b *blueprint, free vector, first int, carried []packed) []packed {
	open := d.restock()
	carried = d.lead(b, first, free, carried)
	m := d.aim(b, free)
	for {
		var best int
		if best, open = d.suits(m, open, b, free); best < 0 {
			return carried
		}
		s := &open[best]
		for n := max(free.times(s.need(s.next), math.MaxInt32)/gulps, 1); n > 0; {
			batch, found := d.top(s, b, free)
			if !found {
				break
			}
			var taken int
			most := min(n, d.available(batch))
			carried, taken = d.add(batch, free.times(d.batches[batch].class.need, most), free, carried)
			m.take(d.quote.needs[batch], taken)
			n -= taken
		}
	}
}

// suits is the shelf whose next pod is to be taken, -1 when none fits, and the shelves that still have one that fits.
func (d *draft) suits(m *measure, open []shelf, b *blueprint, free vector) (int, []shelf) {
	best, most := -1, 0.0
	kept := open[:0]
	for i := range open {
		batch, found := d.top(&open[i], b, free)
		if !found {
			continue
		}
		if score := m.score(d.quote.needs[batch], d.quote.worth[batch]); best < 0 || score > most {
			best, most = len(kept), score
		}
		kept = append(kept, open[i])
	}
	return best, kept
}

// gulps is how often at least a pod is judged anew before its like have filled a machine alone.
const gulps = 24

// stride is after how many pods that do not fit twice as many are passed over at once: of thousands that are much alike
// a few of those in between are all the same.
const stride = 16

// top is the first batch on a shelf that still has pods and fits. What does not fit now will not fit later: room only
// shrinks while a machine is filled.
func (d *draft) top(s *shelf, b *blueprint, free vector) (int, bool) {
	if !free.holds(s.least) {
		return 0, false
	}
	misses := 0
	for s.next = s.live(s.next, d.left); s.next < len(s.batches); s.next = s.live(min(s.next+1<<min(misses/stride, 20), len(s.batches)), d.left) {
		batch := s.batches[s.next]
		d.effort++
		if free.holds(s.need(s.next)) && d.available(batch) > 0 && (s.taken == s.next+1 || b.takes(d.batches[batch].class)) {
			s.taken = s.next + 1
			return batch, true
		}
		misses++
	}
	return 0, false
}

// measure is the room of a machine being filled, in parts of what the machine has.
type measure struct {
	part  []float64 // of a machine that one part of what is asked for makes
	room  []float64 // left, up to what is aimed at
	focus int
}

// leastRoom keeps a kind that is used up in the picture.
const leastRoom = 0.01

// aim aims at a machine that is full of every kind that has a price. Of the others it aims at no more than its
// share of what is asked for, so that none of them runs out early.
func (d *draft) aim(b *blueprint, free vector) *measure {
	m := &d.measure
	if m.part == nil {
		*m = measure{part: make([]float64, len(d.kinds)), room: make([]float64, len(d.kinds)), focus: d.style.focus}
	}
	rarest := 0.0
	for k := range m.part {
		room := float64(max(b.free[k], 0)) / d.quote.asked[k]
		if m.part[k] = 0; room > 0 {
			m.part[k] = 1 / room
		}
		m.room[k] = d.quote.left[k] * m.part[k]
		rarest = max(rarest, m.room[k])
	}
	for k := range m.room {
		if m.part[k] > 0 && d.quote.price[k] > 0 {
			m.room[k] = 1
		} else if rarest > 0 {
			m.room[k] = min(m.room[k]/rarest, 1)
		}
		m.room[k] -= float64(b.free[k]-free[k]) / d.quote.asked[k] * m.part[k]
	}
	return m
}

func (m *measure) take(need []float64, n int) {
	for k := range m.room {
		m.room[k] -= need[k] * m.part[k] * float64(n)
	}
}

// score is worth, less the worse the pod points away from the corner where all room ends: worth times a power of the
// cosine between what it takes and what is left.
func (m *measure) score(need []float64, worth float64) float64 {
	var along, pod, room float64
	for k, part := range m.part {
		n, r := need[k]*part, max(m.room[k], leastRoom)
		along += n * r
		pod += n * n
		room += r * r
	}
	if pod == 0 {
		return worth
	}
	square := along * along / (pod * room)
	for range m.focus {
		square *= square
	}
	return worth * square
}
