package replay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func queued(q *queue, name string, priority int32, now time.Time) *corev1.Pod {
	p := pod(name, "1", "1Gi")
	p.UID, p.Spec.Priority = types.UID(name), &priority
	q.add(p, nil, now)
	return p
}

func all(*waiter) bool { return true }

func names(q *queue, now time.Time) (popped []string) {
	for w := q.pop(now); w != nil; w = q.pop(now) {
		popped = append(popped, w.pod.Name)
	}
	return popped
}

func TestQueueOrder(t *testing.T) {
	q := newQueue()
	queued(q, "first", 0, Zero)
	queued(q, "second", 0, Zero)
	queued(q, "urgent", 10, Zero.Add(time.Second))
	require.Equal(t, []string{"urgent", "first", "second"}, names(q, Zero.Add(time.Second)))
}

func TestRefusedPodsWaitForAnEvent(t *testing.T) {
	q := newQueue()
	queued(q, "p", 0, Zero)
	q.failed(q.pop(Zero), byExtender, Zero)
	_, ok := q.next(Zero.Add(time.Minute))
	require.False(t, ok, "nothing is to be done by itself")
	require.Nil(t, q.pop(Zero.Add(time.Minute)))

	q.event(Zero.Add(10*time.Millisecond), func(*waiter) bool { return false })
	require.Nil(t, q.pop(Zero.Add(time.Minute)), "an event that does not help")
	q.event(Zero.Add(10*time.Millisecond), all)
	require.Len(t, q.backoff.list, 1, "it backs off still")
	require.Equal(t, []string{"p"}, names(q, Zero.Add(10*time.Millisecond)), "but it is popped when nothing is active")
}

func TestActivePodsGoBeforeThoseThatBackOff(t *testing.T) {
	q := newQueue()
	queued(q, "refused", 100, Zero)
	q.failed(q.pop(Zero), byExtender, Zero)
	q.event(Zero, all)
	queued(q, "fresh", 0, Zero)
	require.Equal(t, []string{"fresh", "refused"}, names(q, Zero))
}

func TestAPodsOwnUpdateBringsItBack(t *testing.T) {
	q := newQueue()
	p, _ := queued(q, "p", 0, Zero), queued(q, "other", 0, Zero)
	q.failed(q.pop(Zero), byExtender, Zero)
	q.failed(q.pop(Zero), byExtender, Zero)
	q.update(p, Zero)
	require.Equal(t, []string{"p"}, names(q, Zero))
}

// Errors back off whatever happens: a second at first, two at most, and to the end of the window.
func TestErrorsBackOff(t *testing.T) {
	q := newQueue()
	queued(q, "p", 0, Zero)
	now := Zero.Add(300 * time.Millisecond)
	for _, end := range []time.Duration{2 * time.Second, 5 * time.Second, 8 * time.Second} {
		w := q.pop(now)
		require.NotNil(t, w)
		q.failed(w, 0, now)
		q.event(now, all)
		require.Nil(t, q.pop(Zero.Add(end-time.Nanosecond)))
		at, ok := q.next(now)
		require.True(t, ok)
		require.Equal(t, Zero.Add(end), at)
		now = at
	}
}

func TestOldPodsAreTriedAnyway(t *testing.T) {
	q := newQueue()
	queued(q, "p", 0, Zero)
	q.failed(q.pop(Zero), byExtender, Zero)
	at, ok := q.nextFlush()
	require.True(t, ok)
	require.Equal(t, Zero.Add(5*time.Minute+30*time.Second), at, "more than five minutes, at the next look")
	q.flushOld(at, all)
	require.Nil(t, q.pop(at), "spared")
	q.flushOld(at.Add(6*time.Minute), func(*waiter) bool { return false })
	require.Equal(t, []string{"p"}, names(q, at.Add(6*time.Minute)))
}

func TestRemovedPodsAreNowhere(t *testing.T) {
	q := newQueue()
	for range 2 {
		queued(q, "p", 0, Zero)
		q.remove("p")
		require.Nil(t, q.pop(Zero))
	}
	queued(q, "p", 0, Zero)
	q.failed(q.pop(Zero), 0, Zero)
	q.remove("p")
	_, ok := q.next(Zero)
	require.False(t, ok)
}

// While there is no node nobody is tried; those who failed for want of one are where they would be had they been.
func TestARestedQueueCatchesUp(t *testing.T) {
	q := newQueue()
	queued(q, "p", 0, Zero)
	q.failed(q.pop(Zero), 0, Zero)
	w := q.errors.list[0]
	w.errors = 5
	q.catchUp(Zero.Add(100 * time.Second))
	require.Equal(t, Zero.Add(99*time.Second), w.queued)
	at, ok := q.next(Zero.Add(100 * time.Second))
	require.True(t, ok)
	require.Equal(t, Zero.Add(102*time.Second), at)
}
