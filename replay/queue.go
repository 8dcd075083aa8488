package replay

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/muster-sh/muster/capacity"
)

// The times of kube-scheduler's queue: its back-off is that of deploy/place, the others no configuration changes.
const (
	firstBackoff  = time.Second
	mostBackoff   = 2 * time.Second
	backoffWindow = time.Second      // back-offs end at whole windows
	flushEvery    = 30 * time.Second // how often old unschedulable pods are looked for
	tooLong       = 5 * time.Minute  // how long one waits for an event before it is tried anyway
)

// shelf is where a waiting pod stands.
type shelf int

const (
	shelfActive shelf = iota
	shelfBackoff
	shelfErrors // failed by an error, not by a refusal
	shelfUnschedulable
	shelfNone
)

// waiter is a pod in the scheduler's queue.
type waiter struct {
	pod      *corev1.Pod
	ask      *capacity.Ask
	number   uint64 // order of arrival
	queued   time.Time
	by       rejectors
	refused  int    // attempts that found no node
	errors   int    // errors in a row
	hopeless uint64 // the version of the nodes at which none could take the pod even if it were empty

	shelf shelf
	index int
}

// queue is kube-scheduler's scheduling queue as of 1.36 (pkg/scheduler/backend/queue): active by priority and time,
// back-off that is popped early when nothing is active (SchedulerPopFromBackoffQ), a back-off of its own for errors, and
// the unschedulable pods, which wait for an event that one of the plugins that refused them is interested in
// (isPodWorthRequeuing).
type queue struct {
	count         uint64
	waiters       map[types.UID]*waiter
	active        waiters
	backoff       waiters
	errors        waiters
	unschedulable map[types.UID]*waiter
}

func newQueue() *queue {
	q := &queue{waiters: map[types.UID]*waiter{}, unschedulable: map[types.UID]*waiter{}}
	q.active.less = earlier
	q.backoff.less = func(a, b *waiter) bool {
		if x, y := q.expiry(a), q.expiry(b); !x.Equal(y) {
			return x.Before(y)
		}
		return earlier(a, b)
	}
	q.errors.less = q.backoff.less
	return q
}

// earlier is the PrioritySort plugin's order, made total by the order of arrival.
func earlier(a, b *waiter) bool {
	return cmp.Or(
		cmp.Compare(schedulingv1.PodPriority(b.pod), schedulingv1.PodPriority(a.pod)),
		a.queued.Compare(b.queued), cmp.Compare(a.number, b.number),
	) < 0
}

// expiry is when the back-off ends, at the start of a window; zero when there is none.
func (q *queue) expiry(w *waiter) time.Time {
	tries := w.refused
	if w.errors > 0 {
		tries = w.errors
	}
	if tries == 0 {
		return time.Time{}
	}
	d := mostBackoff
	if shift := tries - 1; shift < 32 && firstBackoff <= mostBackoff>>shift {
		d = firstBackoff << shift
	}
	return w.queued.Add(d).Truncate(backoffWindow)
}

func (q *queue) backingOff(w *waiter, now time.Time) bool {
	return !q.expiry(w).Before(now.Truncate(backoffWindow))
}

// add takes in a new pod.
func (q *queue) add(p *corev1.Pod, ask *capacity.Ask, now time.Time) {
	q.count++
	w := &waiter{pod: p, ask: ask, number: q.count, queued: now, shelf: shelfNone}
	q.waiters[p.UID] = w
	q.put(w, shelfActive)
}

// update takes in a pod's new version: one that an extender refused has had its event. Its labels and its spec do not
// change here, and nothing else of it concerns the scheduler's own plugins (PodSchedulingPropertiesChange in
// pkg/scheduler/framework/events.go).
func (q *queue) update(p *corev1.Pod, now time.Time) {
	w := q.waiters[p.UID]
	if w == nil {
		return
	}
	w.pod = p
	switch w.shelf {
	case shelfUnschedulable:
		if w.by.has(byExtender) {
			q.requeue(w, now)
		}
	case shelfActive:
		heap.Fix(&q.active, w.index)
	case shelfBackoff:
		heap.Fix(&q.backoff, w.index)
	}
}

func (q *queue) remove(uid types.UID) {
	if w := q.waiters[uid]; w != nil {
		q.take(w)
		delete(q.waiters, uid)
	}
}

// pop takes the next pod to be tried; nil when none may be tried now.
func (q *queue) pop(now time.Time) *waiter {
	q.flushBackoff(&q.backoff, now)
	q.flushBackoff(&q.errors, now)
	from := &q.active
	if from.Len() == 0 {
		from = &q.backoff
	}
	if from.Len() == 0 {
		return nil
	}
	w := heap.Pop(from).(*waiter)
	w.shelf = shelfNone
	return w
}

func (q *queue) flushBackoff(from *waiters, now time.Time) {
	for from.Len() > 0 && !q.backingOff(from.list[0], now) {
		q.put(heap.Pop(from).(*waiter), shelfActive)
	}
}

// failed puts a tried pod back: refused pods wait for an event, errors for their back-off (AddUnschedulableIfNotPresent).
func (q *queue) failed(w *waiter, by rejectors, now time.Time) {
	w.queued, w.by = now, by
	if by != 0 {
		w.refused++
		w.errors = 0
		q.put(w, shelfUnschedulable)
		return
	}
	w.errors++
	q.put(w, shelfErrors)
}

// event brings back the pods that wait for one and that it may help.
func (q *queue) event(now time.Time, helps func(*waiter) bool) {
	for _, w := range q.waiting() {
		if helps(w) {
			q.requeue(w, now)
		}
	}
}

// flushOld brings back the pods that waited for an event for too long. Those to be spared wait as if they had been tried.
func (q *queue) flushOld(now time.Time, spare func(*waiter) bool) {
	for _, w := range q.waiting() {
		switch {
		case now.Sub(w.queued) <= tooLong:
		case spare(w):
			w.queued = now
		default:
			q.requeue(w, now)
		}
	}
}

// waiting are the unschedulable pods, in the order of arrival.
func (q *queue) waiting() []*waiter {
	all := make([]*waiter, 0, len(q.unschedulable))
	for _, w := range q.unschedulable {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *waiter) int { return cmp.Compare(a.number, b.number) })
	return all
}

func (q *queue) requeue(w *waiter, now time.Time) {
	q.take(w)
	if q.backingOff(w, now) {
		q.put(w, shelfBackoff)
		return
	}
	q.put(w, shelfActive)
}

// next is when something is to be done although nothing happens; false means never.
func (q *queue) next(now time.Time) (time.Time, bool) {
	switch {
	case q.active.Len() > 0 || q.backoff.Len() > 0:
		return now, true
	case q.errors.Len() > 0:
		return q.expiry(q.errors.list[0]).Add(backoffWindow), true
	}
	return time.Time{}, false
}

// catchUp is for a queue that rested since nobody could be tried: those who failed by errors are where they would be had
// they been tried, in vain, at the end of each back-off.
func (q *queue) catchUp(now time.Time) {
	for _, w := range q.errors.list {
		w.queued = w.queued.Add(now.Sub(w.queued).Truncate(mostBackoff + backoffWindow))
	}
	heap.Init(&q.errors)
}

// nextFlush is when the oldest unschedulable pod is tried anyway; false when there is none.
func (q *queue) nextFlush() (time.Time, bool) {
	var oldest time.Time
	for _, w := range q.unschedulable {
		if oldest.IsZero() || w.queued.Before(oldest) {
			oldest = w.queued
		}
	}
	if oldest.IsZero() {
		return time.Time{}, false
	}
	return oldest.Add(tooLong).Truncate(flushEvery).Add(flushEvery), true
}

func (q *queue) put(w *waiter, on shelf) {
	w.shelf = on
	switch on {
	case shelfActive:
		heap.Push(&q.active, w)
	case shelfBackoff:
		heap.Push(&q.backoff, w)
	case shelfErrors:
		heap.Push(&q.errors, w)
	case shelfUnschedulable:
		q.unschedulable[w.pod.UID] = w
	}
}

func (q *queue) take(w *waiter) {
	switch w.shelf {
	case shelfActive:
		heap.Remove(&q.active, w.index)
	case shelfBackoff:
		heap.Remove(&q.backoff, w.index)
	case shelfErrors:
		heap.Remove(&q.errors, w.index)
	case shelfUnschedulable:
		delete(q.unschedulable, w.pod.UID)
	}
	w.shelf = shelfNone
}
