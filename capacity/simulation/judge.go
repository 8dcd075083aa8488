package simulation

import (
	"math"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/topology"
)

// Judge says whether one more pod of the class may go to a place, as kube-scheduler's filters would say, with the reason
// of the first that refuses, in the scheduler's order.
func (s *Simulation) Judge(c *Class, p *Place) capacity.Verdict {
	if v := s.Admits(c, p); !v.Fits {
		return v
	}
	if v := s.judgePorts(c, p); !v.Fits {
		return v
	}
	if v := s.Room(c, p); !v.Fits {
		return v
	}
	return s.judgeOthers(c, p)
}

// Admits judges what no pod leaving the place can change: cordon, taints, selectors. For an imagined machine it is
// answered from memory.
func (s *Simulation) Admits(c *Class, p *Place) capacity.Verdict {
	s.effort.looks++
	if p.Model != nil && p.Model.admitted(s, c) {
		return capacity.Fitting
	}
	return c.AdmittedBy(p.Node)
}

// AdmittedBy is Admits for a node that is no Place.
func (c *Class) AdmittedBy(n *capacity.Node) capacity.Verdict {
	if v := capacity.Admits(c.Ask, n); !v.Fits {
		return v
	}
	for i := range c.wishes {
		switch w := &c.wishes[i]; {
		case w.what == wishOfTaints && capacity.Avoided(c.Ask, n.Object.Spec.Taints) > 0:
			return capacity.Refusal(capacity.CodePreference, "a taint is avoided")
		case w.what == wishOfNode && !w.node.Grants(n):
			return capacity.Refusal(capacity.CodePreference, "node affinity")
		}
	}
	return capacity.Fitting
}

// Takes says whether an empty machine of the model would take a pod of the class, other pods left aside.
func (s *Simulation) Takes(c *Class, m *Model) bool {
	return m.admitted(s, c) && capacity.Room(c.Ask, m.Node.Allocatable, m.Free, nil).Fits
}

func (m *Model) admitted(s *Simulation, c *Class) bool {
	if c.ID >= len(m.admits) {
		m.admits = append(m.admits, make([]int8, max(16, s.ids-len(m.admits)))...)
	}
	if m.admits[c.ID] == 0 {
		m.admits[c.ID] = -1
		if c.AdmittedBy(m.Node).Fits {
			m.admits[c.ID] = 1
		}
	}
	return m.admits[c.ID] > 0
}

// Room judges resources alone.
func (s *Simulation) Room(c *Class, p *Place) capacity.Verdict {
	s.effort.looks++
	return capacity.Room(c.Ask, p.Node.Allocatable, p.Free, p.Classes)
}

// Company judges what depends on which pods are where: host ports, volumes, topology spread, pod affinity and
// anti-affinity. Judge is Admits, Room and Company.
func (s *Simulation) Company(c *Class, p *Place) capacity.Verdict {
	s.effort.looks++
	if v := s.judgePorts(c, p); !v.Fits {
		return v
	}
	return s.judgeOthers(c, p)
}

// Still says whether a pod of the class that was put on a place could be put there again, all others where they are.
func (s *Simulation) Still(c *Class, p *Place) bool {
	if c.Plain() {
		return true
	}
	s.stand(c, p, -1)
	fits := s.Company(c, p).Fits
	s.stand(c, p, 1)
	return fits
}

// judgeOthers is the part of Company that the scheduler judges after resources: volumes, then topology.
func (s *Simulation) judgeOthers(c *Class, p *Place) capacity.Verdict {
	if c.Ask.Unjudged.Code == capacity.CodeSelector {
		return capacity.Verdict{Reason: c.Ask.Unjudged}
	}
	if v := s.judgeVolumes(c, p); !v.Fits {
		return v
	}
	if c.kind != nil {
		if f := c.kind.Judge(p.site); f.Cause != topology.None {
			return found(f)
		}
	}
	if c.insisted != nil {
		if f := c.insisted.Judge(p.site); f.Cause != topology.None {
			return capacity.Verdict{Reason: capacity.Reason{Code: capacity.CodePreference, Detail: f.Key}, Resolvable: f.Cause != topology.SpreadKey}
		}
	}
	return capacity.Fitting
}

// found says for each cause whether pods that leave could help, as the plugins do.
func found(f topology.Finding) capacity.Verdict {
	v := capacity.Verdict{Resolvable: true}
	switch f.Cause {
	case topology.SpreadKey:
		v = capacity.Refusal(capacity.CodeTopologyKey, f.Key)
	case topology.Spread:
		v.Reason = capacity.Reason{Code: capacity.CodeTopologySpread, Detail: f.Key}
	case topology.Affinity:
		v = capacity.Refusal(capacity.CodePodAffinity, f.Key)
	case topology.AntiAffinity:
		v.Reason = capacity.Reason{Code: capacity.CodePodAntiAffinity, Detail: f.Key}
	case topology.ExistingAvoidance:
		v.Reason = capacity.Reason{Code: capacity.CodeAvoided, Detail: f.Key}
	}
	return v
}

// Most is how many pods of the class, at most limit, may go to a place where Judge says that one fits: so many can be Put
// at once, and each of them would have been judged to fit after the one before. Where a rule could let more in after
// these (a minimum that rises), ask again.
func (s *Simulation) Most(c *Class, p *Place, limit int) int {
	most := min(limit, roomFor(c.Ask, p))
	if len(c.Ask.Ports) > 0 || c.volumes != nil {
		most = min(most, 1)
	}
	if c.kind != nil {
		most = min(most, c.kind.Most(p.site))
	}
	if c.insisted != nil {
		most = min(most, c.insisted.Most(p.site))
	}
	return most
}

// roomFor is how often an ask fits into what is free on a place.
func roomFor(a *capacity.Ask, p *Place) int {
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
