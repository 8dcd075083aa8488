package simulation

import (
	"slices"

	"github.com/muster-sh/muster/capacity"
)

// Queue has pods judged in the order in which kube-scheduler would try them: by falling priority. The topology spread of a
// pod does not count those of lower priority that are put in the same simulation, since they come later. It is called
// before the first class is asked for, with the priorities of all pods that wait.
func (s *Simulation) Queue(priorities []int32) {
	s.queue = slices.Clone(priorities)
	slices.Sort(s.queue)
	s.queue = slices.Compact(s.queue)
	slices.Reverse(s.queue)
	if len(s.queue) == 1 {
		s.queue = nil // nobody comes before another
	}
}

// rank is where a pod stands in the queue, from 1; 0 for one that does not wait there.
func (s *Simulation) rank(pod *capacity.Pod) int32 {
	if pod.Node != "" {
		return 0
	}
	return int32(slices.Index(s.queue, pod.Priority) + 1)
}

// Settled is the class of a pod to be Put where it will be before any other that waits is tried again: everybody counts it.
func (s *Simulation) Settled(pod *capacity.Pod) *Class {
	c := s.Class(pod)
	if c.kind == nil || !c.kind.Counted() {
		return c
	}
	return s.class(pod, 0)
}
