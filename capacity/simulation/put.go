package simulation

import "github.com/muster-sh/muster/capacity"

// Put puts n pods of a class on a place, whether or not Judge lets them. The cost is in the number of rules that count
// such a pod, not in the pods or nodes there are.
func (s *Simulation) Put(c *Class, p *Place, n int) {
	s.count(c, p, n)
	s.note(move{place: p, class: c, n: n})
}

// Take takes away n pods of a class that were put on a place.
func (s *Simulation) Take(c *Class, p *Place, n int) { s.Put(c, p, -n) }

// Remove takes away a pod that the view has on a place, bound or held: its room, its ports and all that other pods see of
// it. Restore puts it back.
func (s *Simulation) Remove(pod *capacity.Pod, p *Place) { s.Take(s.Class(pod), p, 1) }

// Restore undoes Remove.
func (s *Simulation) Restore(pod *capacity.Pod, p *Place) { s.Put(s.Class(pod), p, 1) }

// Await has a pod stand where a claim keeps room for it, so that what it sees of others, and others of it, is judged there.
// Its room is taken once: a view has it taken off an open node already. It is for what comes before any Mark.
func (s *Simulation) Await(pod *capacity.Pod, c *capacity.Claim) {
	p := s.byNode[c.Node.Name]
	if p == nil || p.Node.Stage != capacity.Open {
		p = s.Arrive(c)
	} else {
		p.Free.AddTimes(&pod.Ask.Requests, 1)
	}
	s.Put(s.Class(pod), p, 1)
}

func (s *Simulation) count(c *Class, p *Place, n int) {
	if p.field {
		if c.kind != nil {
			c.kind.Put(p.site, n)
		}
		return
	}
	p.Free.AddTimes(&c.takes, int64(-n))
	s.stand(c, p, n)
}

// furnish counts DaemonSet pods on a place; on a field every machine has them.
func (s *Simulation) furnish(c *Class, p *Place, n int) {
	s.countPorts(c, p, n)
	s.countVolumes(c, p, n)
	if c.kind != nil {
		c.kind.Furnish(p.site, n)
	}
}

// stand counts n pods of a class on a place in all but resources.
func (s *Simulation) stand(c *Class, p *Place, n int) {
	s.countPorts(c, p, n)
	s.countVolumes(c, p, n)
	if c.kind != nil {
		c.kind.Put(p.site, n)
	}
}
