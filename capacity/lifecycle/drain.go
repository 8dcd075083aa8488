package lifecycle

import (
	"fmt"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// drain closes the Node. While only spec.release asks for it, that may be withdrawn.
func (s *step) drain() {
	s.enter(v1alpha1.ClaimDraining, fmt.Sprintf("closing node %s: %s", s.c.Status.NodeName, s.closingReason()))
	s.yes(v1alpha1.ConditionDraining, ReasonClosing, s.c.Status.Message)
	s.do(claimEvent(ReasonClosing, s.c.Status.Message))
}

func draining(s *step) {
	switch {
	case !s.closing():
		s.reopen()
	case s.lost(), !s.closed():
	case len(s.o.Pods) > 0:
		s.awaitPods()
	case !s.o.PodsFresh:
		s.do(LookPods{Node: s.c.Status.NodeName})
		s.wake(evictAgain)
	default:
		s.release(s.closingReason(), "node "+s.c.Status.NodeName+" is empty")
	}
	if s.c.Status.State == v1alpha1.ClaimDraining {
		s.doubt()
	}
}

// reopen undoes a drain whose release was withdrawn; the marks come off in the state it returns to.
func (s *step) reopen() {
	s.no(v1alpha1.ConditionDraining, ReasonReopened, "the release was withdrawn")
	to := v1alpha1.ClaimReady
	if !s.is(v1alpha1.ConditionInitialized) {
		to = v1alpha1.ClaimStarting
	}
	s.enter(to, "node "+s.c.Status.NodeName+" is open again")
	s.do(claimEvent(ReasonReopened, s.c.Status.Message))
}

// closed reports whether the Node was seen with our taint and cordon for long enough that every earlier binding shows.
func (s *step) closed() bool {
	reason := s.reasonOf(v1alpha1.ConditionDraining)
	if s.o.Node != nil && s.update(closedNode(s.o.Node)) {
		s.yes(v1alpha1.ConditionDraining, ReasonClosing, "the node is being tainted and cordoned")
		s.wake(drainSettle)
		return false
	}
	switch reason {
	case ReasonPods:
		return true
	case ReasonSettling:
		if s.waiting() {
			return false
		}
		s.c.Status.NextAttempt = nil
		s.yes(v1alpha1.ConditionDraining, ReasonPods, "the node is closed")
		return true
	}
	s.yes(v1alpha1.ConditionDraining, ReasonSettling, "the node is closed, late bindings may still show")
	s.waitUntil(s.now.Add(drainSettle))
	return false
}

// awaitPods evicts what is there when the claim was deleted. An idle release evicts nothing.
func (s *step) awaitPods() {
	first := s.o.Pods[0]
	s.say(fmt.Sprintf("node %s is closed, waiting for pods to leave: %d, one of them %s/%s", s.c.Status.NodeName,
		len(s.o.Pods), first.Namespace, first.Name))
	if !s.deleted() {
		s.wake(evictAgain)
		return
	}
	if s.waiting() {
		return
	}
	for _, pod := range s.o.Pods {
		if !pod.Terminating {
			s.do(Evict{Pod: pod})
		}
	}
	s.waitUntil(s.now.Add(evictAgain))
}
