package planner

import (
	"math"
	"slices"
	"strings"

	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/policy"
)

// fill packs pods into one machine and works out how many such machines can be packed alike: a machine that takes the
// last of a batch is the only one of its kind. Where a cheaper machine carries the same, it is taken instead, and what
// more it has is filled too.
func (d *draft) fill(b *blueprint, first int) (lot, policy.Offer) {
	l := lot{blueprint: b, machines: math.MaxInt}
	free := slices.Clone(b.free)
	if d.crowd != nil {
		d.begin(b, first)
	}
	l.packed = d.pack(b, free, first, d.carried[:0])
	if small := d.shrink(b, free, l.packed); small != b {
		l.blueprint = small
		for k := range free {
			free[k] = amount.Sum(small.free[k], amount.Sum(free[k], -b.free[k]))
		}
		l.packed = d.pack(small, free, first, l.packed)
	}
	if d.crowd != nil && d.crowd.bin != nil {
		l.place, l.machines = d.crowd.bin, 1
	}
	d.carried, l.packed = l.packed, slices.Clone(l.packed)
	offer := policy.Offer{Cost: l.Cost, Idle: idle(l.blueprint, d.kinds, free)}
	for i, p := range l.packed {
		p.pods = d.taken[p.batch]
		l.packed[i], d.taken[p.batch] = p, 0
		l.machines = min(l.machines, d.left[p.batch]/p.pods)
		if p.pods == d.left[p.batch] {
			l.machines = 1
		}
		offer.Packed += d.worth(p.batch) * float64(p.pods)
	}
	return l, offer
}

// pack takes pods into the room that is left, notes in taken how many of each batch, and adds to the batches carried.
func (d *draft) pack(b *blueprint, free vector, first int, carried []packed) []packed {
	if d.style.focus == 0 {
		return d.packInOrder(b, free, first, carried)
	}
	return d.packEvenly(b, free, first, carried)
}

// available is how many pods of a batch a machine of the family could still get.
func (d *draft) available(batch int) int {
	if d.crowd == nil || !d.batches[batch].class.social {
		return d.left[batch] - d.taken[batch]
	}
	if !d.crowd.mayTry(d.batches[batch].class) {
		return 0
	}
	return d.crowd.at(batch)
}

// add packs at most n pods of a batch, and says how many: of a social one as many as the rules let.
func (d *draft) add(batch, n int, free vector, carried []packed) ([]packed, int) {
	if n == 0 {
		return carried, 0
	}
	if !d.batches[batch].class.social {
		return d.take(batch, n, free, carried), n
	}
	for i := range n {
		if !d.join(batch, carried) {
			return carried, i
		}
		carried = d.take(batch, 1, free, carried)
	}
	return carried, n
}

// take packs n pods of a batch.
func (d *draft) take(batch, n int, free vector, carried []packed) []packed {
	free.take(d.batches[batch].class.need, n)
	if d.taken[batch] == 0 {
		carried = append(carried, packed{batch: batch})
	}
	d.taken[batch] += n
	return carried
}

// worth is what a pod counts for where machines are compared.
func (d *draft) worth(batch int) float64 {
	if d.quote == nil {
		return d.batches[batch].class.size
	}
	return d.quote.worth[batch]
}

// lead packs the pod that the machine is bought for, and those that can only be where others are.
func (d *draft) lead(b *blueprint, first int, free vector, carried []packed) []packed {
	if len(carried) > 0 {
		return carried
	}
	carried = d.take(first, 1, free, carried)
	if d.crowd == nil {
		return carried
	}
	for _, i := range d.crowd.clingy {
		class, n := d.batches[i].class, d.crowd.unsited[i]
		if n > 0 && free.holds(class.need) && b.takes(class) {
			carried, _ = d.add(i, min(n, free.times(class.need, n)), free, carried)
		}
	}
	return carried
}

// blockSize is how many batches are passed over at once where none of them fits.
const blockSize = 64

// leastOf are the least amounts that any batch of each block asks for.
func leastOf(batches []*batch) []vector {
	var out []vector
	for i, b := range batches {
		if i%blockSize == 0 {
			out = append(out, slices.Clone(b.class.need))
		}
		out[len(out)-1].atMost(b.class.need)
	}
	return out
}

// packInOrder takes the given batch and those after it in their order, as much of each as fits.
func (d *draft) packInOrder(b *blueprint, free vector, first int, carried []packed) []packed {
	carried = d.lead(b, first, free, carried)
	for i, block := d.live(first), -1; i < len(d.batches) && free[atPods] > 0; i = d.live(i + 1) {
		d.effort++
		if i/blockSize != block {
			if block = i / blockSize; !free.holds(d.least[block]) {
				i = (block+1)*blockSize - 1
				continue
			}
		}
		class := d.batches[i].class
		if class.need[atCPU] > free[atCPU] || class.need[atMemory] > free[atMemory] || !b.takes(class) {
			continue
		}
		carried, _ = d.add(i, free.times(class.need, d.available(i)), free, carried)
	}
	return carried
}

// idle says whether the machine has an extended resource that nothing packed asks for.
func idle(b *blueprint, k kinds, free vector) bool {
	for name, q := range b.shape.Resources {
		if !strings.Contains(string(name), "/") || q.Sign() <= 0 {
			continue
		}
		if i := slices.Index(k, name); i < 0 || free[i] == b.free[i] {
			return true
		}
	}
	return false
}

// shrink finds the cheapest machine of the family that still carries what was packed: of a range the smallest size.
func (d *draft) shrink(b *blueprint, free vector, carried []packed) *blueprint {
	load := make(vector, len(free))
	for i := range load {
		load[i] = max(amount.Sum(b.free[i], -free[i]), 0)
	}
	if b.vendor.sizes == nil {
		return d.cheapest(b, load, carried)
	}
	shape, ok := b.vendor.sizes.Smallest(b.machineFor(load))
	if !ok {
		return b
	}
	if small := b.vendor.size(shape); d.carries(small, load, carried) {
		return small
	}
	return b
}

// cheapest is b itself where nothing of its family that carries the same costs less.
func (d *draft) cheapest(b *blueprint, load vector, carried []packed) *blueprint {
	best := b
	for _, other := range b.sizes {
		if other.Cost >= best.Cost {
			break
		}
		if other.Extra == b.Extra && other.free.holds(load) && d.budgets[b.vendor].Refuses(other.resources()) == "" && d.carries(other, load, carried) {
			return other
		}
	}
	return best
}

func (d *draft) carries(b *blueprint, load vector, carried []packed) bool {
	if !b.free.holds(load) {
		return false
	}
	for _, p := range carried {
		if !b.takes(d.batches[p.batch].class) {
			return false
		}
	}
	return true
}
