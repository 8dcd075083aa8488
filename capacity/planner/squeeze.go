package planner

// squeeze puts pods that got no machine of their own where others are: what keeps pods apart while there are machines to
// come may let them share when there are none, and some can only be where others are. A machine grows for that, where
// its pool has no limit but the number of machines.
func (d *draft) squeeze() {
	for i, b := range d.batches {
		for d.crowd.unsited[i] > 0 && d.squeezeOne(i, b.class) {
			d.crowd.unsited[i]--
		}
	}
}

func (d *draft) squeezeOne(batch int, class *class) bool {
	if class.ask.Unjudged.Code != "" {
		return false
	}
	for i := range d.lots {
		l := &d.lots[i]
		if l.machines != 1 || !l.admits(class) || !d.sim.Company(class.sim, l.place).Fits {
			continue
		}
		wider := d.wider(l, class)
		if wider == nil {
			continue
		}
		d.sim.Put(class.sim, l.place, 1)
		if !d.content(l, class) {
			d.sim.Take(class.sim, l.place, 1)
			continue
		}
		d.bill.Cost += wider.Cost - l.Cost
		l.blueprint = wider
		l.change(batch, 1)
		d.left[batch]--
		d.count(batch, l.vendor.tier, 1)
		return true
	}
	return false
}

// wider is the cheapest machine of the lot's family that carries one more pod.
func (d *draft) wider(l *lot, class *class) *blueprint {
	load := make(vector, len(d.kinds))
	for _, p := range l.packed {
		load.put(d.batches[p.batch].class.need, p.pods)
	}
	load.put(class.need, 1)
	switch {
	case l.free.holds(load):
		return l.blueprint
	case len(l.vendor.pool.Spec.Limits.Resources) > 0:
		return nil
	case l.vendor.sizes != nil:
		if shape, ok := l.vendor.sizes.Smallest(l.machineFor(load)); ok {
			if b := l.vendor.size(shape); b.free.holds(load) && b.takes(class) && d.carries(b, load, l.packed) {
				return b
			}
		}
		return nil
	}
	for _, b := range l.sizes {
		if b.Extra == l.Extra && b.free.holds(load) && b.takes(class) && d.carries(b, load, l.packed) {
			return b
		}
	}
	return nil
}

// content says whether all pods of a lot may still be where they are.
func (d *draft) content(l *lot, added *class) bool {
	for _, p := range l.packed {
		if !d.still(d.batches[p.batch].class, l.place) {
			return false
		}
	}
	return d.still(added, l.place)
}

// verify judges every pod again among all others where they end up, and leaves out who may not be there after all: no
// order of binding could be sure to get there.
func (d *draft) verify() {
	for found := true; found; {
		found = false
		for i := range d.lots {
			l := &d.lots[i]
			for j := range l.packed {
				p := &l.packed[j]
				class := d.batches[p.batch].class
				for class.social && p.pods > 0 && !d.still(class, l.place) {
					d.sim.Take(class.sim, l.place, 1)
					p.pods--
					d.left[p.batch]++
					d.count(p.batch, l.vendor.tier, -1)
					found = true
				}
			}
		}
	}
	d.dismiss()
}

// dismiss drops machines that carry nobody.
func (d *draft) dismiss() {
	kept := d.lots[:0]
	for _, l := range d.lots {
		pods := 0
		for _, p := range l.packed {
			pods += p.pods
		}
		if pods == 0 {
			d.bill.Cost -= l.Cost * float64(l.machines)
			d.bill.Machines -= l.machines
			continue
		}
		kept = append(kept, l)
	}
	d.lots = kept
}
