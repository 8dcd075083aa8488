package capacity

import "math"

// Judge says whether one more pod of the class may go to a place, as kube-scheduler's filters would say, with the reason
// of the first that refuses, in the scheduler's order.
func (s *Simulation) Judge(c *Class, p *Place) Verdict {
	if v := s.Admits(c, p); !v.Fits {
		return v
	}
	if v := s.ports(c, p); !v.Fits {
		return v
	}
	if v := s.Room(c, p); !v.Fits {
		return v
	}
	return s.company(c, p)
}

// Admits judges what no pod leaving the place can change: cordon, taints, selectors. For an imagined machine it is
// answered from memory.
func (s *Simulation) Admits(c *Class, p *Place) Verdict {
	if p.Model == nil {
		return s.admits(c, p.Node)
	}
	if p.Model.admitted(s, c) {
		return fits
	}
	return s.admits(c, p.Node)
}

func (s *Simulation) admits(c *Class, n *Node) Verdict { return Admits(c.Ask, n) }

// Takes says whether an empty machine of the model would take a pod of the class, other pods left aside.
func (s *Simulation) Takes(c *Class, m *Model) bool {
	return m.admitted(s, c) && Room(c.Ask, m.Node.Allocatable, m.Free, nil).Fits
}

func (m *Model) admitted(s *Simulation, c *Class) bool {
	for c.ID >= len(m.admits) {
		m.admits = append(m.admits, make([]int8, max(16, s.ids-len(m.admits)))...)
	}
	if m.admits[c.ID] == 0 {
		m.admits[c.ID] = -1
		if s.admits(c, m.Node).Fits {
			m.admits[c.ID] = 1
		}
	}
	return m.admits[c.ID] > 0
}

// Room judges resources alone.
func (s *Simulation) Room(c *Class, p *Place) Verdict {
	return Room(c.Ask, p.Node.Allocatable, p.Free, p.Classes)
}

// Company judges what depends on which pods are where: host ports, volumes, topology spread, pod affinity and
// anti-affinity. Judge is Admits, Room and Company.
func (s *Simulation) Company(c *Class, p *Place) Verdict {
	if v := s.ports(c, p); !v.Fits {
		return v
	}
	return s.company(c, p)
}

func (s *Simulation) ports(*Class, *Place) Verdict { return fits }

// company is the part of Company that the scheduler judges after resources: volumes, then topology.
func (s *Simulation) company(*Class, *Place) Verdict { return fits }

// Most is how many pods of the class, at most limit, may go to a place where Judge says that one fits: so many can be Put
// at once, and each of them would have been judged to fit after the one before. Where a rule could let more in after
// these (a minimum that rises), ask again.
func (s *Simulation) Most(c *Class, p *Place, limit int) int {
	return min(limit, roomFor(c.Ask, p))
}

// roomFor is how often an ask fits into what is free on a place.
func roomFor(a *Ask, p *Place) int {
	n := int64(math.MaxInt32)
	fit := func(have, want int64) {
		if want > 0 {
			n = min(n, max(have, 0)/want)
		}
	}
	fit(p.Free.Pods, a.Requests.Pods)
	fit(p.Free.MilliCPU, a.Requests.MilliCPU)
	fit(p.Free.Memory, a.Requests.Memory)
	fit(p.Free.EphemeralStorage, a.Requests.EphemeralStorage)
	for name, want := range a.Requests.Scalar {
		if p.Node.Allocatable.Scalar[name] <= 0 && p.Classes.Has(name) {
			continue
		}
		fit(p.Free.Scalar[name], want)
	}
	return int(n)
}
