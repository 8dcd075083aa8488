package planner

import (
	"cmp"
	"math"
	"slices"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// oustRounds bounds how often those who were ousted are looked at again.
const oustRounds = 4

// rank sees to it that no less important pod has a machine where a more important one has none. It says whether any had.
func (p *planner) rank() bool {
	p.raise()
	for round := range oustRounds {
		if p.sim.Spent() || !p.left() || !p.oust() {
			return round > 0
		}
		p.settleAll()
	}
	return true
}

// oust gives pods for which no machine may be bought the room on machines of this plan that it has for less important
// ones: once the machines are there, the filter would let them take it anyway. It says whether any pod was helped.
func (p *planner) oust() bool {
	helped := false
	for _, b := range p.batches {
		c := cmp.Or(b.plain, b.class)
		if len(b.pods) == 0 || c.ask.Unjudged.Code != "" {
			continue
		}
		places := slices.DeleteFunc(slices.Clone(p.trusted(p.ordered, c.ask)), func(pl *place) bool {
			less := func(pod *capacity.Pod) bool { return pod.Priority < b.priority }
			return !slices.ContainsFunc(p.plan.Creates[pl.create].Pods, less) || !p.sim.Admits(c.sim, pl.Place).Fits
		})
		for len(b.pods) > 0 && p.oustFor(b, c, places) {
			helped = true
		}
	}
	return helped
}

// oustFor helps the first pod of a batch: where those on a machine are in its way, or else where those are that stand
// anywhere in the domains of the machine.
func (p *planner) oustFor(b *batch, c *class, places []*place) bool {
	for _, far := range []bool{false, true} {
		for _, pl := range places {
			if (!far || c.social) && p.oustFrom(pl, b, c, far) {
				return true
			}
		}
	}
	return false
}

// oustFrom puts the first pod of a batch on a machine in the place of less important ones; where that cannot be, nothing
// changes.
func (p *planner) oustFrom(pl *place, b *batch, c *class, far bool) bool {
	before, judge := p.sim.Mark(), p.sim.Judge
	if far {
		judge = p.sim.Room
	}
	victims, ok := p.makeWay(c.sim, pl, lessImportant(p.plan.Creates[pl.create].Pods, b.priority), judge)
	gone := map[*place][]*capacity.Pod{pl: victims}
	stays := func() bool { return !c.social || p.sim.Still(c.sim, pl.Place) }
	if !ok || !far && !stays() || !p.evict(gone, b.priority) || far && !stays() {
		p.sim.Rewind(before)
		return false
	}
	first := b.pods[0]
	b.pods = b.pods[1:]
	for _, from := range p.ordered {
		p.plan.Creates[from.create].Drop(gone[from])
		p.giveBack(gone[from])
	}
	p.plan.Creates[pl.create].Carry(first.Pod)
	p.plan.Outcomes[first.Pod.UID] = capacity.Outcome{Fate: capacity.Ordered, Claim: pl.Claim.Name}
	return true
}

// evict takes away the less important pods that may not be where they are any more: they come after the more important
// ones, and find what those leave. It says whether all others may stay.
func (p *planner) evict(gone map[*place][]*capacity.Pod, below int32) bool {
	for found := true; found; {
		found = false
		for _, pl := range slices.Backward(p.ordered) {
			for _, pod := range slices.Backward(p.plan.Creates[pl.create].Pods) {
				c := p.sim.Class(pod)
				switch {
				case slices.Contains(gone[pl], pod) || p.sim.Still(c, pl.Place):
				case pod.Priority >= below:
					return false
				default:
					p.sim.Take(c, pl.Place, 1)
					gone[pl], found = append(gone[pl], pod), true
				}
			}
		}
	}
	return true
}

// shake takes pods off the machines of this plan that may not be where they are, now that all machines are there: one that
// was bought late can be a domain that others ought to be spread over. It says whether there was any.
func (p *planner) shake() bool {
	if !slices.ContainsFunc(p.batches, func(b *batch) bool { return b.class.social }) {
		return false
	}
	gone := map[*place][]*capacity.Pod{}
	if p.evict(gone, math.MaxInt32); len(gone) == 0 {
		return false
	}
	for _, from := range p.ordered {
		p.plan.Creates[from.create].Drop(gone[from])
		p.giveBack(gone[from])
	}
	p.settleAll()
	return true
}

// sound says whether all pods on machines of this plan may still be there, but for those that are gone.
func (p *planner) sound(gone []*capacity.Pod) bool {
	for _, pl := range p.ordered {
		for _, pod := range p.plan.Creates[pl.create].Pods {
			if !slices.Contains(gone, pod) && !p.sim.Still(p.sim.Class(pod), pl.Place) {
				return false
			}
		}
	}
	return true
}

// lessImportant are the pods below a priority, the least important first.
func lessImportant(pods []*capacity.Pod, than int32) []*capacity.Pod {
	var out []*capacity.Pod
	for _, pod := range pods {
		if pod.Priority < than {
			out = append(out, pod)
		}
	}
	slices.SortStableFunc(out, func(a, b *capacity.Pod) int { return cmp.Compare(a.Priority, b.Priority) })
	return out
}

// makeWay takes pods off a machine until one of a class may be put there, puts it there, and puts back whom that leaves
// room. It returns those that are gone; where all of them together are not enough, nothing changes. The machine admits the class.
func (p *planner) makeWay(c *simulation.Class, pl *place, victims []*capacity.Pod, may func(*simulation.Class, *simulation.Place) capacity.Verdict) (gone []*capacity.Pod, ok bool) {
	for _, v := range victims {
		p.sim.Take(p.sim.Class(v), pl.Place, 1)
		gone = append(gone, v)
		if ok = may(c, pl.Place).Fits; ok {
			break
		}
	}
	if ok {
		p.sim.Put(c, pl.Place, 1)
	}
	for i := len(gone) - 1; i >= 0; i-- {
		v := p.sim.Class(gone[i])
		if !ok || p.sim.Judge(v, pl.Place).Fits {
			p.sim.Put(v, pl.Place, 1)
			gone = slices.Delete(gone, i, i+1)
		}
	}
	return gone, ok
}

// giveBack counts pods as left again.
func (p *planner) giveBack(pods []*capacity.Pod) {
	for _, s := range p.v.Shortfalls {
		if !slices.ContainsFunc(pods, func(pod *capacity.Pod) bool { return pod.UID == s.Pod.UID }) {
			continue
		}
		delete(p.plan.Outcomes, s.Pod.UID)
		of := p.sim.Class(s.Pod)
		for _, b := range p.batches {
			if b.class.sim.Base() == of && b.priority == s.Pod.Priority && b.late == s.Late && (!b.vain || s.Vain) {
				b.pods = append(b.pods, s)
				break
			}
		}
	}
}
