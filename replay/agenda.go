package replay

import (
	"container/heap"
	"time"
)

// agenda holds what is to happen, in the order of time and then of its entry. It is the only clock of a world.
type agenda struct {
	now   time.Time
	count uint64
	items items
}

// at has do called at a time; one that is past means now, after everything that was entered for now already.
func (a *agenda) at(t time.Time, do func()) {
	if t.Before(a.now) {
		t = a.now
	}
	a.count++
	heap.Push(&a.items, item{at: t, number: a.count, do: do})
}

func (a *agenda) after(d time.Duration, do func()) { a.at(a.now.Add(d), do) }

// upcoming is when the next entry is due; false when there is none.
func (a *agenda) upcoming() (time.Time, bool) {
	for len(a.items) > 0 && a.items[0].stale() {
		heap.Pop(&a.items)
	}
	if len(a.items) == 0 {
		return time.Time{}, false
	}
	return a.items[0].at, true
}

// next moves time to the next entry and does it; false when there is none.
func (a *agenda) next() bool {
	if _, ok := a.upcoming(); !ok {
		return false
	}
	i := heap.Pop(&a.items).(item)
	a.now = i.at
	if i.alarm != nil {
		i.alarm.set = false
	}
	i.do()
	return true
}

// alarm is an entry that can be moved and taken back.
type alarm struct {
	agenda *agenda
	ring   func()
	set    bool
	at     time.Time
	token  uint64
}

func (a *agenda) alarm(ring func()) *alarm { return &alarm{agenda: a, ring: ring} }

// setAt moves the alarm to a time, whatever it was set to.
func (l *alarm) setAt(t time.Time) {
	if t.Before(l.agenda.now) {
		t = l.agenda.now
	}
	if l.set && l.at.Equal(t) {
		return
	}
	l.token++
	l.set, l.at = true, t
	l.agenda.count++
	heap.Push(&l.agenda.items, item{at: t, number: l.agenda.count, do: l.ring, alarm: l, token: l.token})
}

// notAfter sets the alarm to a time unless it rings earlier anyway.
func (l *alarm) notAfter(t time.Time) {
	if !l.set || t.Before(l.at) {
		l.setAt(t)
	}
}

func (l *alarm) stop() { l.set = false }

type item struct {
	at     time.Time
	number uint64
	do     func()
	alarm  *alarm // nil for an entry that stands
	token  uint64
}

// stale says whether the alarm was moved or taken back since.
func (i item) stale() bool { return i.alarm != nil && (!i.alarm.set || i.alarm.token != i.token) }

type items []item

func (h items) Len() int { return len(h) }
func (h items) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].number < h[j].number
}
func (h items) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *items) Push(x any)   { *h = append(*h, x.(item)) }
func (h *items) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = item{}
	*h = old[:len(old)-1]
	return last
}
