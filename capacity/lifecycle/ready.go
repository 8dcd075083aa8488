package lifecycle

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

func ready(s *step) {
	s.refresh()
	node := s.o.Node
	switch {
	case s.closing():
		s.drain()
	case s.lost(), s.restarting():
	case node == nil:
		s.nodeGone()
	case !registered(node, s.c):
		s.enter(v1alpha1.ClaimStarting, "node "+node.Name+" registered again")
		s.c.Status.RegisteredAt = micro(s.now)
		s.unready(ReasonWaiting, s.c.Status.Message)
	case !NodeReady(node):
		s.say("node " + node.Name + " is not ready" + s.afterRestart())
		s.no(v1alpha1.ConditionReady, ReasonNodeNotReady, s.c.Status.Message)
		s.update(OpenNode(node))
		if !s.unseed() {
			s.doubt()
		}
	default:
		s.yes(v1alpha1.ConditionReady, ReasonNodeReady, "")
		s.say("node " + node.Name + " is ready")
		s.updateAll(OpenNode)
		s.unblock()
		s.unseed()
	}
}

// nodeGone waits for a Node object that somebody deleted while its machine runs: the kubelet registers again. It is
// waited for as long as for a new machine, and as long as the provider does not confirm that the machine is there. The wait begins
// when the Node is first missed, however long it was not ready before.
func (s *step) nodeGone() {
	if s.reasonOf(v1alpha1.ConditionReady) != ReasonNodeGone {
		meta.RemoveStatusCondition(&s.c.Status.Conditions, v1alpha1.ConditionReady)
	}
	s.no(v1alpha1.ConditionReady, ReasonNodeGone, "the node object is gone")
	s.say(fmt.Sprintf("node %s is gone, waiting for machine %s to register it again", s.c.Status.NodeName, s.c.Status.MachineID))
	since := s.now
	if c := meta.FindStatusCondition(s.c.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		since = s.from(c.LastTransitionTime.Time)
	}
	timeout := s.c.Spec.RegistrationTimeout.Duration
	end := since.Add(timeout)
	switch {
	case timeout <= 0:
	case s.now.Before(end):
		s.wake(end.Sub(s.now))
	case s.blockedAlready(), !s.seenRunning(end):
	default:
		s.release(ReasonNodeLost, fmt.Sprintf("node %s did not come back in %s", s.c.Status.NodeName, timeout))
		return
	}
	s.doubt()
}

func (s *step) seenRunning(since time.Time) bool {
	m, ok := s.current()
	return ok && m.State == provider.StateRunning && !s.o.Machine.At.Before(since)
}
