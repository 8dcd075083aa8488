package planner

import (
	"slices"

	"github.com/muster-sh/muster/capacity/simulation"
)

// insist has batches insist on what their pods prefer of a machine, as far as some pool has it: the machine is bought there
// first. Preferences say which machine is bought, never how many: those over hosts (a host of one's own, or together with
// others) are left to the scheduler.
func (p *planner) insist() {
	for _, s := range p.market.vendors {
		for _, b := range s.models() {
			p.sim.Foresee(b.probe)
		}
	}
	for _, b := range p.batches {
		if len(b.pods) == 0 || b.class.ask.Unjudged.Code != "" {
			continue
		}
		plain := b.class
		for as := p.sim.Choosy(plain.sim); as != nil && as != plain.sim; as = p.sim.Relaxed(as) {
			if c := p.insisting(plain, as); p.differs(c, plain) && p.sold(c) {
				b.class, b.plain = c, plain
				break
			}
		}
	}
}

// relax has the batches that are left let their weakest preference go, or all of them; it says whether any had one.
func (p *planner) relax(all bool) bool {
	relaxed := false
	for _, b := range p.batches {
		if b.plain == nil || len(b.pods) == 0 {
			continue
		}
		relaxed = true
		next := p.sim.Relaxed(b.class.sim)
		for !all && next != nil && next != b.plain.sim && !p.sold(p.insisting(b.plain, next)) {
			next = p.sim.Relaxed(next)
		}
		if all || next == nil || next == b.plain.sim {
			b.class, b.plain = b.plain, nil
			continue
		}
		b.class = p.insisting(b.plain, next)
	}
	return relaxed
}

// forget ends all insistence.
func (p *planner) forget() {
	for _, b := range p.batches {
		if b.plain != nil {
			b.class, b.plain = b.plain, nil
		}
	}
}

// insisting is a class whose pods insist on what they prefer.
func (p *planner) insisting(plain *class, as *simulation.Class) *class {
	if known := p.choosy[as]; known != nil {
		return known
	}
	c := *plain
	c.id, c.sim = p.classes, as
	p.classes++
	if as.InsistsOnOthers() {
		c.social, c.like = true, p.likes
		p.likes++
	}
	p.choosy[as] = &c
	return &c
}

// differs says whether the preferences make any difference: a pool has machines that do not grant them, or other pods do.
func (p *planner) differs(choosy, plain *class) bool {
	if choosy.sim.InsistsOnOthers() {
		return true
	}
	return slices.ContainsFunc(p.market.vendors, func(s *vendor) bool {
		return slices.ContainsFunc(s.models(), func(b *blueprint) bool { return b.takes(plain) && !b.takes(choosy) })
	})
}

// sold says whether any pool that may grow has a machine for a class.
func (p *planner) sold(c *class) bool {
	return slices.ContainsFunc(p.market.vendors, func(s *vendor) bool { return p.couldBuy(s, c) })
}
