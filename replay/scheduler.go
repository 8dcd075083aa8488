package replay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
)

// scheduler is kube-scheduler with the configuration of deploy/place: one profile, four filters handed to Muster, no
// preemption, podInitialBackoffSeconds 1 and podMaxBackoffSeconds 2.
type scheduler struct {
	agenda *agenda
	api    *api
	delays Delays
	name   string
	client *extenderClient
	// exact has a refused pod tried again at every event, as kube-scheduler does for pods that an extender refused.
	exact bool

	queue   *queue
	asks    *capacity.Compiler
	nodes   []string // sorted
	known   map[string]*capacity.Node
	version uint64 // of the nodes
	pods    map[types.UID]*corev1.Pod
	busy    time.Time
	cycle   *alarm
	flush   *alarm

	attempts, calls, errors int
}

func newScheduler(a *agenda, api *api, d Delays, name string, client *extenderClient) *scheduler {
	s := &scheduler{
		agenda: a, api: api, delays: d, name: name, client: client, queue: newQueue(),
		asks: capacity.NewCompiler(), known: map[string]*capacity.Node{}, pods: map[types.UID]*corev1.Pod{},
	}
	s.cycle, s.flush = a.alarm(s.schedule), a.alarm(s.flushOld)
	api.watch(d.SchedulerWatch, s.see)
	return s
}

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
	i, known := slices.BinarySearch(s.nodes, n.Name)
	if c.gone() {
		if known {
			s.nodes = slices.Delete(s.nodes, i, i+1)
		}
		delete(s.known, n.Name)
		s.event(n.Name)
		return
	}
	if !known {
		if len(s.nodes) == 0 {
			s.queue.catchUp(s.agenda.now)
		}
		s.nodes = slices.Insert(s.nodes, i, n.Name)
	}
	s.known[n.Name] = &capacity.Node{Name: n.Name, Object: n, Allocatable: capacity.ResourcesOf(n.Status.Allocatable)}
	s.event(n.Name)
}

func (s *scheduler) seePod(c change, p *corev1.Pod) {
	if p.Spec.NodeName != "" {
		s.forget(p.UID)
		if c.gone() || finished(p) || s.exact {
			s.event(p.Spec.NodeName)
		}
		return
	}
	if p.Spec.SchedulerName != s.name {
		return
	}
	switch known := s.pods[p.UID] != nil; {
	case c.gone():
		s.forget(p.UID)
	case !known && p.DeletionTimestamp == nil:
		s.pods[p.UID] = p
		s.queue.add(p, s.asks.Ask(p), s.agenda.now)
	case known:
		s.pods[p.UID] = p
		s.queue.update(p, s.agenda.now)
	}
}

func (s *scheduler) forget(uid types.UID) {
	s.queue.remove(uid)
	delete(s.pods, uid)
}

// event brings refused pods back for something that happened to a node. kube-scheduler brings all of them back, whatever
// happened, when an extender had refused them; here, unless the retries are to be exact, those are spared that the node
// could not take if it were empty: their answer would be the same.
func (s *scheduler) event(node string) {
	n := s.known[node]
	s.queue.event(s.agenda.now, func(w *waiter) bool {
		return s.exact || n != nil && capacity.Fit(w.ask, n, n.Allocatable, nil).Fits
	})
}

// hopeless says whether no node could take the pod if it were empty; never where retries are to be exact.
func (s *scheduler) hopeless(w *waiter) bool {
	if s.exact {
		return false
	}
	if w.hopeless == s.version {
		return true
	}
	for _, name := range s.nodes {
		if n := s.known[name]; capacity.Fit(w.ask, n, n.Allocatable, nil).Fits {
			return false
		}
	}
	w.hopeless = s.version
	return true
}

// wake sets the alarms to when the queue has something to do. Without a node, those who failed for want of one rest.
func (s *scheduler) wake() {
	at, ok := s.queue.next(s.agenda.now)
	if ok && (len(s.nodes) > 0 || !at.After(s.agenda.now)) {
		if at.Before(s.busy) {
			at = s.busy
		}
		s.cycle.notAfter(at)
	}
	switch {
	case len(s.queue.unschedulable) == 0:
		s.flush.stop()
	case !s.flush.set:
		if at, ok := s.queue.nextFlush(); ok {
			s.flush.setAt(at)
		}
	}
}

func (s *scheduler) flushOld() {
	s.queue.flushOld(s.agenda.now, s.hopeless)
	s.wake()
}

// schedule tries one pod and is busy for the time that takes.
func (s *scheduler) schedule() {
	now := s.agenda.now
	if w := s.queue.pop(now); w != nil {
		if p := s.pods[w.pod.UID]; p == nil || p.DeletionTimestamp != nil {
			delete(s.queue.waiters, w.pod.UID)
		} else {
			s.busy = now.Add(s.delays.Cycle)
			s.try(w)
		}
	}
	s.wake()
}

// The scheduler's own words.
const noNodes = "no nodes available to schedule pods"

func (s *scheduler) try(w *waiter) {
	s.attempts++
	if len(s.nodes) == 0 {
		s.fail(w, false, corev1.PodReasonUnschedulable, noNodes)
		return
	}
	s.calls++
	found, err := s.client.filter(w.pod, s.nodes)
	switch {
	case err != nil:
		s.errors++
		s.fail(w, false, corev1.PodReasonSchedulerError, err.Error())
	case len(found.nodes) == 0:
		s.fail(w, true, corev1.PodReasonUnschedulable, fitError(len(s.nodes), found.reasons))
	default:
		node := found.nodes[0]
		s.agenda.after(s.delays.Bind, func() { s.bind(w, node) })
	}
}

// fail puts the pod back and writes why, when that is news.
func (s *scheduler) fail(w *waiter, refused bool, reason, message string) {
	s.queue.failed(w, refused, s.agenda.now)
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message,
		LastTransitionTime: s.api.now(),
	}
	if old := conditionOf(w.pod, c.Type); old != nil && old.Status == c.Status {
		if old.Reason == c.Reason && old.Message == c.Message {
			return
		}
		c.LastTransitionTime = old.LastTransitionTime
	}
	uid := w.pod.UID
	s.agenda.after(s.delays.Write, func() { s.api.changePod(uid, func(p *corev1.Pod) { setCondition(p, c) }) })
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
