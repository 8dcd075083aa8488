package simulation

import (
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/volume"
)

// volumes makes the count of what pods attach and claim, when the first pod with volumes is looked at. A pod that is held
// was promised what the scheduler would bind for it.
func (s *Simulation) volumes() *volume.State {
	if s.storage != nil || s.view.Storage == nil {
		return s.storage
	}
	s.storage = volume.NewState(s.view.Storage)
	for _, p := range s.places {
		for _, pod := range s.view.Pods[p.Node.Name] {
			if pod.Volumes != nil {
				s.storage.Occupy(pod.Volumes, s.disks(p))
			}
		}
		for _, pod := range s.view.Held[p.Node.Name] {
			if pod.Volumes != nil {
				s.storage.Put(pod.Volumes, s.disks(p))
			}
		}
	}
	return s.storage
}

// disks are the volumes on a place.
func (s *Simulation) disks(p *Place) *volume.Site {
	if p.volumes == nil {
		p.volumes = s.storage.Site(p.Node.Object, s.byNode[p.Node.Name] == p)
	}
	return p.volumes
}

func (s *Simulation) judgeVolumes(c *Class, p *Place) capacity.Verdict {
	if c.volumes == nil || s.volumes() == nil {
		return capacity.Fitting
	}
	return capacity.VolumeVerdict(s.storage.Judge(c.volumes, s.disks(p)))
}

func (s *Simulation) countVolumes(c *Class, p *Place, n int) {
	if c.volumes == nil || s.volumes() == nil {
		return
	}
	for ; n > 0; n-- {
		s.storage.Put(c.volumes, s.disks(p))
	}
	for ; n < 0; n++ {
		s.storage.Take(c.volumes, s.disks(p))
	}
}
