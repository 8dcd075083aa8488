package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/capacity"
)

// scheduler is kube-scheduler with the configuration of deploy/place: one profile, four filters handed to Muster, the
// others judged by filters, no preemption, podInitialBackoffSeconds 1 and podMaxBackoffSeconds 2.
//
// The extender is offered every node that passed the filters: percentageOfNodesToScore is 100, so there is no sample and
// no start that rotates (numFeasibleNodesToFind in pkg/scheduler/schedule_one.go). Nodes are not scored: Muster offers one,
// and one is taken without asking (schedulePod), so there is nothing that a batch could hint at either
// (StoreScheduleResults in pkg/scheduler/framework/runtime/batch.go).
type scheduler struct {
	agenda *agenda
	api    *api
	delays Delays
	name   string
	client *extenderClient
	// exact has a refused pod tried again at every event, as kube-scheduler does for pods that an extender refused.
	exact bool

	queue   *queue
	filters *filters
	devices devices
	// unjudged are the pods that were refused for devices and have no node.
	unjudged sets.Set[types.UID]
	asks     *capacity.Compiler
	nodes    []string // sorted
	known    map[string]*capacity.Node
	version  uint64 // of the nodes
	pods     map[types.UID]*corev1.Pod
	busy     time.Time
	cycle    *alarm
	flush    *alarm

	attempts, calls, errors int
}

func newScheduler(a *agenda, api *api, client *extenderClient, o *Options) *scheduler {
	s := &scheduler{
		agenda: a, api: api, delays: *o.Delays, name: Scheduler, client: client, exact: o.Exact, queue: newQueue(),
		filters: newFilters(o.Namespaces, o.Storage), devices: newDevices(o.DeviceClasses), unjudged: sets.New[types.UID](),
		asks: capacity.NewCompiler(), known: map[string]*capacity.Node{}, pods: map[types.UID]*corev1.Pod{},
	}
	s.cycle, s.flush = a.alarm(s.schedule), a.alarm(s.flushOld)
	api.watch(s.delays.SchedulerWatch, s.see)
	return s
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
