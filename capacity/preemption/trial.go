package preemption

import (
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// trial is the cluster of a View, in which pods are moved to see what would fit.
type trial struct{ *simulation.Simulation }

// fits says whether every hard constraint lets a pending pod go to a node, as the trial stands.
func (t trial) fits(p *capacity.Pod, s *spot) bool { return t.judge(p, s).Fits }

func (t trial) judge(p *capacity.Pod, s *spot) capacity.Verdict { return t.Judge(t.Class(p), s.place) }

// leave and stay move a pod that is bound to the node.
func (t trial) leave(p *capacity.Pod, s *spot) { t.Remove(p, s.place) }

func (t trial) stay(p *capacity.Pod, s *spot) { t.Restore(p, s.place) }

// come puts a pending pod on a node.
func (t trial) come(p *capacity.Pod, s *spot) { t.Put(t.Class(p), s.place, 1) }
