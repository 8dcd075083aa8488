package replay

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The scheduler's own words.
const noNodes = "no nodes available to schedule pods"

// try is one scheduling attempt (schedulePod in pkg/scheduler/schedule_one.go).
func (s *scheduler) try(w *waiter) {
	s.attempts++
	if len(s.nodes) == 0 {
		s.fail(w, 0, corev1.PodReasonUnschedulable, noNodes)
		return
	}
	names, pinned := pins(w.pod)
	if pinned && len(names) == 0 {
		s.fail(w, byPins, corev1.PodReasonUnschedulable, fitError(len(s.nodes), nil)+" "+conflictingPins+".")
		return
	}
	if s.tryNominated(w) {
		return
	}
	nodes, reasons, by := s.pass(w.pod, names, pinned)
	if len(nodes) == 0 {
		s.fail(w, by, corev1.PodReasonUnschedulable, fitError(len(s.nodes), reasons))
		return
	}
	s.calls++
	found, err := s.client.filter(w.pod, nodes)
	switch {
	case err != nil:
		s.errors++
		s.fail(w, 0, corev1.PodReasonSchedulerError, err.Error())
	case len(found.nodes) == 0:
		for reason, n := range reasons {
			found.reasons[reason] += n
		}
		s.fail(w, by|byExtender, corev1.PodReasonUnschedulable, fitError(len(s.nodes), found.reasons))
	default:
		s.choose(w, found.nodes[0])
	}
}

// pass are the nodes that the extender is asked about, and why it is not asked about others: how many for each reason, and
// which plugins say so.
func (s *scheduler) pass(p *corev1.Pod, names sets.Set[string], pinned bool) (nodes []string, reasons map[string]int, by rejectors) {
	if !pinned && !s.devices.matter(p) {
		return s.filters.pass(p, s.nodes)
	}
	looked := s.nodes
	if pinned {
		looked = among(looked, names)
		by |= byPins
	}
	known := slices.DeleteFunc(slices.Clone(looked), func(n string) bool { return !s.devices.judged(p, s.known[n].Object) })
	nodes, reasons, rest := s.filters.pass(p, known)
	reasons = maps.Clone(reasons)
	if reasons == nil {
		reasons = map[string]int{}
	}
	if left := len(s.nodes) - len(looked); left > 0 {
		reasons[notPinned] += left
	}
	if left := len(looked) - len(known); left > 0 {
		reasons[noDevices] += left
		by |= byDevices
	}
	return nodes, reasons, by | rest
}

// tryNominated asks about the node alone that the pod is nominated to, if that passes the filters, whatever nodes the pod
// names: when it is refused, or the call fails, all are asked about (evaluateNominatedNode).
func (s *scheduler) tryNominated(w *waiter) (chosen bool) {
	node := w.pod.Status.NominatedNodeName
	if node == "" || s.known[node] == nil {
		return false
	}
	asked, _, _ := s.filters.pass(w.pod, []string{node})
	if len(asked) == 0 || !s.devices.judged(w.pod, s.known[node].Object) {
		return false
	}
	s.calls++
	found, err := s.client.filter(w.pod, asked)
	if err != nil {
		s.errors++
		return false
	}
	if len(found.nodes) == 0 {
		return false
	}
	s.choose(w, node)
	return true
}

// choose has the pod be where it goes from now on, for the scheduler's own filters, and binds it in a while.
func (s *scheduler) choose(w *waiter, node string) {
	s.unjudged.Delete(w.pod.UID)
	s.filters.assume(w.pod, node)
	s.agenda.after(s.delays.Bind, func() { s.bind(w, node) })
}

// fail puts the pod back and writes why, when that is news: the next pod waits until that is written, unless the gate
// SchedulerAsyncAPICalls is on, which it is not by default. What is no refusal takes the pod's nomination away
// (handleSchedulingFailure, updatePod).
func (s *scheduler) fail(w *waiter, by rejectors, reason, message string) {
	s.queue.failed(w, by, s.agenda.now)
	if by.has(byDevices) {
		s.unjudged.Insert(w.pod.UID)
	}
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: s.api.now(),
	}
	unnominate := by == 0 && w.pod.Status.NominatedNodeName != ""
	if old := conditionOf(w.pod, c.Type); old != nil && old.Status == c.Status {
		if old.Reason == c.Reason && old.Message == c.Message && !unnominate {
			return
		}
		c.LastTransitionTime = old.LastTransitionTime
	}
	uid := w.pod.UID
	s.busy = s.busy.Add(s.delays.Write)
	s.agenda.at(s.busy, func() {
		s.api.changePod(uid, func(p *corev1.Pod) {
			setCondition(p, c)
			if unnominate {
				p.Status.NominatedNodeName = ""
			}
		})
	})
}

// bind writes the binding. Where the pod is gone or bound by now, nothing is left to do.
func (s *scheduler) bind(w *waiter, node string) {
	p := s.api.pods[w.pod.UID]
	if p == nil || p.DeletionTimestamp != nil || p.Spec.NodeName != "" {
		return
	}
	s.api.changePod(p.UID, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		setCondition(p, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.api.now().Time),
		})
	})
}
