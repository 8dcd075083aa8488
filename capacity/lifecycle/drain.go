package lifecycle

import (
	"fmt"
	"slices"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// drain closes the Node. While only spec.release asks for it, that may be withdrawn.
func (s *step) drain() {
	s.enter(v1alpha1.ClaimDraining, fmt.Sprintf("closing node %s: %s", s.c.Status.NodeName, s.closingText()))
	s.yes(v1alpha1.ConditionDraining, ReasonClosing, s.c.Status.Message)
	s.do(claimEvent(ReasonClosing, s.c.Status.Message))
}

func draining(s *step) {
	switch {
	case !s.closing():
		s.reopen()
	case s.gaveUp():
		s.do(Withdraw{Name: s.c.Name, UID: s.c.UID})
		s.wake(withdrawAgain)
	case s.lost(), !s.closed():
	case len(s.o.Pods) > 0 && !s.dead():
		s.awaitPods()
	case s.o.Unheard && !s.deleted():
		s.say("node " + s.c.Status.NodeName + " is closed and empty, pods that came a moment ago are waited for")
		s.wake(unheardAgain)
	case !s.o.PodsFresh:
		s.do(LookPods{Node: s.c.Status.NodeName})
		s.wake(evictAgain)
	case s.detaching():
	default:
		s.release(s.closingReason(), "node "+s.c.Status.NodeName+" is empty")
	}
	if s.c.Status.State == v1alpha1.ClaimDraining {
		s.doubt()
	}
}

// dead says that waiting for the pods is of no use: the node is replaced because it is not ready, all of them were evicted, and
// nobody is there who could end them.
func (s *step) dead() bool {
	r := s.c.Spec.Release
	return r != nil && r.Reason == ReasonUnhealthy && s.o.Node != nil && !NodeReady(s.o.Node) && s.passed(s.released()) >= deadGrace &&
		!slices.ContainsFunc(s.o.Pods, func(p PodOnNode) bool { return !p.Terminating })
}

// reopen undoes a drain whose release was withdrawn; the marks come off in the state it returns to.
func (s *step) reopen() {
	if s.reasonOf(v1alpha1.ConditionDraining) != ReasonBlocked {
		st := &s.c.Status
		st.DrainReopened++
		st.DrainAgain = micro(s.now.Add(reopenBackoff.Wait(int(st.DrainReopened), string(s.c.UID))))
		s.no(v1alpha1.ConditionDraining, ReasonReopened, "the release was withdrawn")
	} else {
		s.no(v1alpha1.ConditionDraining, ReasonBlocked, s.c.Status.Message)
	}
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
	if s.updateAll(closedNode) {
		s.yes(v1alpha1.ConditionDraining, ReasonClosing, "the node is being tainted and cordoned")
		s.wake(drainSettle)
		return false
	}
	switch reason {
	case ReasonPods, ReasonVolumes, ReasonBlocked:
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

// awaitPods evicts what is there when the claim was deleted or the release says so. An idle release evicts nothing.
func (s *step) awaitPods() {
	if s.reasonOf(v1alpha1.ConditionDraining) == ReasonVolumes { // one came late
		s.c.Status.NextAttempt = nil
		s.yes(v1alpha1.ConditionDraining, ReasonPods, "the node is closed")
	}
	s.say(fmt.Sprintf("node %s is closed, waiting for pods to leave: %s", s.c.Status.NodeName, s.stayers()))
	switch {
	case s.deleted():
	case s.c.Spec.Release.Drain == nil:
		s.wake(evictAgain)
		return
	case s.mustStay(), s.timeIsUp():
		return
	}
	if s.waiting() {
		return
	}
	if next := nextToLeave(s.o.Pods); len(next) > 0 {
		s.do(Evict{Pods: next})
	}
	s.waitUntil(s.now.Add(evictAgain))
}

// stayers counts the pods that are there and names one, with what the Eviction API said of it.
func (s *step) stayers() string {
	pod := s.o.Pods[0]
	if i := slices.IndexFunc(s.o.Pods, func(p PodOnNode) bool { return p.Refused != "" }); i >= 0 {
		pod = s.o.Pods[i]
	}
	text := fmt.Sprintf("%d, one of them %s/%s", len(s.o.Pods), pod.Namespace, pod.Name)
	if pod.Refused != "" {
		text += ": " + pod.Refused
	}
	return text
}
