package replay

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// see takes in a change as the scheduler's event handlers do.
func (s *scheduler) see(c change) {
	switch o := c.object().(type) {
	case *corev1.Node:
		s.seeNode(c, o)
	case *corev1.Pod:
		s.seePod(c, o)
	}
	s.wake()
}

func (s *scheduler) seeNode(c change, n *corev1.Node) {
	s.version++
	s.filters.seeNode(c, n, s.agenda.now)
	i, known := slices.BinarySearch(s.nodes, n.Name)
	if c.gone() {
		if known {
			s.nodes = slices.Delete(s.nodes, i, i+1)
		}
		delete(s.known, n.Name)
		s.event(c, n.Name, true)
		return
	}
	if !known {
		if len(s.nodes) == 0 {
			s.queue.catchUp(s.agenda.now)
		}
		s.nodes = slices.Insert(s.nodes, i, n.Name)
	}
	s.known[n.Name] = &capacity.Node{Name: n.Name, Object: n, Allocatable: amount.Of(n.Status.Allocatable)}
	s.event(c, n.Name, true)
}

func (s *scheduler) seePod(c change, p *corev1.Pod) {
	if p.Spec.NodeName != "" {
		s.drop(p.UID)
		s.filters.seePod(c, p, s.agenda.now)
		s.event(c, p.Spec.NodeName, c.gone() || finished(p))
		return
	}
	if p.Spec.SchedulerName != s.name || len(p.Spec.SchedulingGates) > 0 { // SchedulingGates keeps it out of the queue
		return
	}
	old, known := s.pods[p.UID]
	switch {
	case c.gone():
		s.drop(p.UID)
		s.filters.forget(p.UID)
		s.unnominated(old, nil)
	case !known && p.DeletionTimestamp == nil:
		s.pods[p.UID] = p
		s.filters.wait(p, s.agenda.now)
		s.queue.add(p, s.asks.Ask(p), s.agenda.now)
	case known && s.filters.placed[p.UID] != nil: // assumed: the queue is not told (updatePodInSchedulingQueue)
		s.pods[p.UID] = p
	case known:
		s.pods[p.UID] = p
		s.filters.wait(p, s.agenda.now)
		s.queue.update(p, s.agenda.now)
		s.unnominated(old, p)
	}
}

func (s *scheduler) drop(uid types.UID) {
	s.queue.remove(uid)
	delete(s.pods, uid)
}

// unnominated is for a pod that is not nominated any more to where it was: to those of no higher priority it was there, and
// is gone (hasNominatedNodeNameChanged and getLEPriorityPreCheck in pkg/scheduler/eventhandlers.go).
func (s *scheduler) unnominated(old, fresh *corev1.Pod) {
	if old == nil || old.Status.NominatedNodeName == "" || fresh != nil && fresh.Status.NominatedNodeName == old.Status.NominatedNodeName {
		return
	}
	s.queue.event(s.agenda.now, func(w *waiter) bool {
		return schedulingv1.PodPriority(w.pod) <= schedulingv1.PodPriority(old) &&
			(s.exact && w.by.has(byExtender) || w.by.hintedByPod(w.pod, old, true))
	})
}

// event brings refused pods back for something that happened to a node or a pod on it. kube-scheduler brings those back,
// whatever happened, that an extender had refused somewhere (defaultEnqueueExtension in
// pkg/scheduler/framework/runtime/framework.go); here, unless the retries are to be exact, those are spared that the node
// could not take if it were empty, and all where no room came up: their answer would be the same. Those that only the
// scheduler's own plugins refused come back as these hint.
func (s *scheduler) event(c change, node string, frees bool) {
	if !frees && !s.exact && s.filters.cache == nil {
		return
	}
	n := s.known[node]
	s.queue.event(s.agenda.now, func(w *waiter) bool {
		if w.by.has(byExtender) && (s.exact || frees && n != nil && capacity.Fit(w.ask, n, n.Allocatable, nil).Fits) {
			return true
		}
		return w.by.hinted(w.pod, c)
	})
}
