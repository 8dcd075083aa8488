package planner

import "github.com/muster-sh/muster/capacity/simulation"

// begin starts to fill a machine for a pod of a batch: a social one leaves the camp for it.
func (d *draft) begin(b *blueprint, batch int) {
	c := d.crowd
	c.camp, c.bin, c.moved = d.campOf(b.family), nil, c.moved[:0]
	c.fill++
	if raft := c.camp.raft(batch); raft != nil {
		c.bin = raft
		if raft.IsField() {
			c.bin = c.sim.Open(c.camp.model)
			c.sim.Take(d.batches[batch].class.sim, raft, 1)
			c.sim.Put(d.batches[batch].class.sim, c.bin, 1)
		}
		d.lift(c.camp, batch)
		c.moved = append(c.moved, step{batch, raft})
	}
}

// mayTry says whether pods of a class have not been refused by the machine that is being filled.
func (c *assembly) mayTry(class *class) bool { return c.refused[class.like] != c.fill }

// join moves one pod of a batch onto the machine that is being filled, if every rule lets it, its own and those of the
// pods that are there: what a spread constraint counts must not grow too much under the pods that have it, either.
func (d *draft) join(batch int, carried []packed) bool {
	c, class := d.crowd, d.batches[batch].class
	if c.bin == nil {
		c.bin = c.sim.Open(c.camp.model)
	}
	raft := c.camp.raft(batch)
	if raft != nil {
		c.sim.Take(class.sim, raft, 1)
	}
	if c.sim.Company(class.sim, c.bin).Fits {
		c.sim.Put(class.sim, c.bin, 1)
		if d.agree(c.bin, class, carried) {
			d.leave(batch, raft)
			return true
		}
		c.sim.Take(class.sim, c.bin, 1)
	}
	if raft != nil {
		c.sim.Put(class.sim, raft, 1)
	}
	c.refused[class.like] = c.fill
	return false
}

// leave notes that a pod has left its raft, or the unsited pods, for the machine that is being filled.
func (d *draft) leave(batch int, raft *simulation.Place) {
	c := d.crowd
	c.moved = append(c.moved, step{batch, raft})
	if raft == nil {
		c.unsited[batch]--
		return
	}
	d.lift(c.camp, batch)
	if !raft.IsField() {
		c.sim.Close(raft)
	}
}

// agree says whether the pods on a machine still may be there after one was added that somebody counts.
func (d *draft) agree(on *simulation.Place, added *class, carried []packed) bool {
	if !added.sim.Counted() {
		return true
	}
	for _, p := range carried {
		class := d.batches[p.batch].class
		if d.taken[p.batch] > 0 && class != added && !d.still(class, on) {
			return false
		}
	}
	return d.still(added, on)
}

// still says whether a pod of the class that is on a place could be put there again.
func (d *draft) still(class *class, on *simulation.Place) bool {
	if !class.social || class.sim.Plain() {
		return true
	}
	d.sim.Take(class.sim, on, 1)
	fits := d.sim.Company(class.sim, on).Fits
	d.sim.Put(class.sim, on, 1)
	return fits
}

// undo gives the pods of the machine that was filled back to their camp.
func (d *draft) undo(to simulation.Mark) {
	c := d.crowd
	c.sim.Rewind(to)
	for i := len(c.moved) - 1; i >= 0; i-- {
		s := c.moved[i]
		if s.raft == nil {
			c.unsited[s.batch]++
			continue
		}
		d.land(c.camp, s.batch, s.raft)
	}
	c.moved, c.bin = c.moved[:0], nil
}
