package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// critical is the lowest priority of pods that others may need until they are gone (system-cluster-critical).
const critical = 2_000_000_000

// nextToLeave are the pods to be evicted now, the least important first. Critical ones follow when all others are gone, as in
// the kubelet's graceful shutdown. Those that are leaving are not asked again.
func nextToLeave(pods []PodOnNode) []PodOnNode {
	others := func(p PodOnNode) bool { return p.Priority < critical }
	onlyCritical := !slices.ContainsFunc(pods, others)
	next := slices.DeleteFunc(slices.Clone(pods), func(p PodOnNode) bool { return p.Terminating || !onlyCritical && !others(p) })
	slices.SortStableFunc(next, func(a, b PodOnNode) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return next
}

// mustStay gives up where a pod came that is not to be moved.
func (s *step) mustStay() bool {
	i := slices.IndexFunc(s.o.Pods, func(p PodOnNode) bool { return p.Stay != "" && !p.Terminating })
	if i < 0 {
		return false
	}
	s.giveUp(fmt.Sprintf("pod %s/%s is not to be moved: %s", s.o.Pods[i].Namespace, s.o.Pods[i].Name, s.o.Pods[i].Stay))
	return true
}

// timeIsUp gives up, or deletes the pods by force, when the drain's time is over. Where all that are left are on their way out,
// they are given as much time again; so is force.
func (s *step) timeIsUp() bool {
	drain := s.c.Spec.Release.Drain
	end := s.from(s.released()).Add(drain.Timeout.Duration)
	if !slices.ContainsFunc(s.o.Pods, func(p PodOnNode) bool { return !p.Terminating }) {
		end = end.Add(drain.Timeout.Duration)
	}
	switch left := end.Sub(s.now); {
	case left > 0:
		s.wake(left)
		return false
	case !drain.Force, left+drain.Timeout.Duration <= 0:
		s.giveUp(fmt.Sprintf("pods did not leave within %s: %s", drain.Timeout.Duration, s.stayers()))
	case !s.waiting():
		if next := nextToLeave(s.o.Pods); len(next) > 0 {
			s.do(DeletePod{Pods: next})
		}
		s.waitUntil(s.now.Add(evictAgain))
	}
	return true
}

// giveUp ends a drain in vain. The release is withdrawn after that is on record, so that no crash makes it begin anew at
// once.
func (s *step) giveUp(why string) {
	st := &s.c.Status
	st.DrainFailures++
	again := drainBackoff.Wait(int(st.DrainFailures), string(s.c.UID))
	st.DrainAgain = micro(s.now.Add(again))
	s.say(fmt.Sprintf("node %s is not emptied: %s; not again before %s", st.NodeName, why, st.DrainAgain.UTC().Format(time.RFC3339)))
	s.yes(v1alpha1.ConditionDraining, ReasonBlocked, st.Message)
	s.do(Event{Type: corev1.EventTypeWarning, Reason: ReasonBlocked, Message: st.Message, Pods: refs(s.o.Pods)})
	s.do(Withdraw{Name: s.c.Name, UID: s.c.UID})
	s.wake(withdrawAgain)
}

// gaveUp says that the drain ended in vain and its release still stands. Who deletes the claim is not given up on.
func (s *step) gaveUp() bool {
	return !s.deleted() && s.reasonOf(v1alpha1.ConditionDraining) == ReasonBlocked
}

// maxTold is how many pods are told why their node was not emptied.
const maxTold = 5

func refs(pods []PodOnNode) []v1alpha1.PodReference {
	var out []v1alpha1.PodReference
	for _, p := range pods[:min(len(pods), maxTold)] {
		out = append(out, v1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID})
	}
	return out
}

// detaching waits for the node's volumes: a machine that is stopped with one attached keeps it from every other node until
// somebody gives up on it, after six minutes by default. A driver that does not answer must not keep the machine: the wait ends.
func (s *step) detaching() bool {
	if len(s.o.Attached) == 0 {
		return false
	}
	if s.reasonOf(v1alpha1.ConditionDraining) != ReasonVolumes {
		s.say(fmt.Sprintf("node %s is empty, waiting for volumes to be detached: %s", s.c.Status.NodeName,
			strings.Join(s.o.Attached, ", ")))
		s.yes(v1alpha1.ConditionDraining, ReasonVolumes, s.c.Status.Message)
		s.waitUntil(s.now.Add(detachTimeout))
	}
	if !s.waiting() {
		return false
	}
	s.wake(detachAgain)
	return true
}
