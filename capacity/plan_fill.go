package capacity

import (
	"math"
	"strings"

	"github.com/muster-sh/muster/policy"
)

// fill packs pods into one machine, the given batch and those after it in their order, and works out how many such
// machines can be packed alike: a machine that takes the last of a batch is the only one of its kind.
func (d *draft) fill(b *blueprint, first int) (lot, policy.Offer) {
	l := lot{blueprint: b, machines: math.MaxInt}
	offer := policy.Offer{Cost: b.cost}
	free := b.free.Clone()
	for i := d.live(first); i < len(d.batches) && free.Pods > 0; i = d.live(i + 1) {
		d.effort++
		class := d.batches[i].class
		if r := &class.ask.Requests; r.MilliCPU > free.MilliCPU || r.Memory > free.Memory || !b.takes(class) {
			continue
		}
		n := times(free, class.ask.Requests, d.left[i])
		if n == 0 {
			continue
		}
		free.subTimes(class.ask.Requests, int64(n))
		l.packed = append(l.packed, packed{batch: i, pods: n})
		l.machines = min(l.machines, d.left[i]/n)
		if n == d.left[i] {
			l.machines = 1
		}
		offer.Packed += class.size * float64(n)
	}
	offer.Idle = idle(b, free)
	if b.vendor.sizes != nil {
		l.blueprint = d.shrink(b, free, l.packed)
		offer.Cost = l.cost
	}
	return l, offer
}

// times is how often an amount fits into what is free, at most so often. Kinds that are not asked for are never short.
func times(free, ask Resources, most int) int {
	n := int64(most)
	fit := func(have, want int64) {
		if want > 0 {
			n = min(n, max(have, 0)/want)
		}
	}
	fit(free.Pods, ask.Pods)
	fit(free.MilliCPU, ask.MilliCPU)
	fit(free.Memory, ask.Memory)
	fit(free.EphemeralStorage, ask.EphemeralStorage)
	for name, want := range ask.Scalar {
		fit(free.Scalar[name], want)
	}
	return int(n)
}

// subTimes takes o off n times; the caller knows that it fits so often.
func (r *Resources) subTimes(o Resources, n int64) {
	r.Pods -= o.Pods * n
	r.MilliCPU -= max(o.MilliCPU, 0) * n
	r.Memory -= max(o.Memory, 0) * n
	r.EphemeralStorage -= max(o.EphemeralStorage, 0) * n
	for name, v := range o.Scalar {
		if v > 0 {
			r.Scalar[name] -= v * n
		}
	}
}

// idle says whether the machine has an extended resource that nothing packed asks for.
func idle(b *blueprint, free Resources) bool {
	for name, v := range b.free.Scalar {
		if v > 0 && free.Scalar[name] == v && strings.Contains(string(name), "/") {
			return true
		}
	}
	return false
}

// shrink finds the smallest size that still carries what was packed into the largest.
func (d *draft) shrink(b *blueprint, free Resources, carried []packed) *blueprint {
	cpu := addSaturated(ResourcesOf(b.machine).MilliCPU, -max(free.MilliCPU, 0))
	memory := addSaturated(ResourcesOf(b.machine).Memory, -max(free.Memory, 0))
	shape, ok := b.vendor.sizes.Smallest(cpu, memory)
	if !ok {
		return b
	}
	if small := b.vendor.size(shape); d.carries(small, carried) {
		return small
	}
	return b
}

func (d *draft) carries(b *blueprint, carried []packed) bool {
	free := b.free.Clone()
	for _, p := range carried {
		class := d.batches[p.batch].class
		if !b.takes(class) || times(free, class.ask.Requests, p.pods) < p.pods {
			return false
		}
		free.subTimes(class.ask.Requests, int64(p.pods))
	}
	return true
}
