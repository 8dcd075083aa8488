package simulation

import (
	"slices"

	"github.com/muster-sh/muster/capacity"
)

// ports are the host ports taken on a place; those of the view's pods are looked up when first needed.
type ports struct {
	known bool
	taken []capacity.HostPort // one taken twice is there twice
}

func (s *Simulation) takenPorts(p *Place) []capacity.HostPort {
	if !p.ports.known {
		p.ports.known = true
		for _, pod := range s.Pods(p) {
			p.ports.taken = append(p.ports.taken, pod.Ask.Ports...)
		}
	}
	return p.ports.taken
}

// judgePorts follows the nodeports plugin.
func (s *Simulation) judgePorts(c *Class, p *Place) capacity.Verdict {
	if len(c.Ask.Ports) == 0 {
		return capacity.Fitting
	}
	taken := s.takenPorts(p)
	for _, port := range c.Ask.Ports {
		if slices.ContainsFunc(taken, port.Conflicts) {
			return capacity.Verdict{Reason: capacity.Reason{Code: capacity.CodeHostPorts}, Resolvable: true}
		}
	}
	return capacity.Fitting
}

func (s *Simulation) countPorts(c *Class, p *Place, n int) {
	if len(c.Ask.Ports) == 0 {
		return
	}
	p.ports.taken = s.takenPorts(p)
	for ; n > 0; n-- {
		p.ports.taken = append(p.ports.taken, c.Ask.Ports...)
	}
	for ; n < 0; n++ {
		for _, port := range c.Ask.Ports {
			if i := slices.Index(p.ports.taken, port); i >= 0 {
				p.ports.taken = slices.Delete(p.ports.taken, i, i+1)
			}
		}
	}
}
