package sim

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/provider"
)

// Advance moves time on and returns what happened since the last call, in the order of time.
func (c *Cloud) Advance(now time.Time) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	events := c.events
	c.events = nil
	return events
}

// NextEvent is when something happens by itself next; false means never, as things are.
func (c *Cloud) NextEvent() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.events) > 0 {
		return c.events[0].At, true
	}
	if len(c.alarms) == 0 {
		return time.Time{}, false
	}
	return c.alarms[0].at, true
}

// Changed is signalled after a call that may have brought NextEvent forward.
func (c *Cloud) Changed() <-chan struct{} { return c.poke }

func (c *Cloud) changed() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// settle lets everything happen that is due. A clock that goes back is taken to stand still.
func (c *Cloud) settle(now time.Time) {
	for len(c.alarms) > 0 && !now.Before(c.alarms[0].at) {
		a := heap.Pop(&c.alarms).(alarm)
		if m := c.machines[a.claim]; m != nil {
			c.live(m, a.at)
		}
	}
	if now.After(c.now) {
		c.now = now
	}
}

// live brings one machine to what it is at a time.
func (c *Cloud) live(m *Machine, at time.Time) {
	due := func(t time.Time) bool { return !t.IsZero() && !at.Before(t) }
	switch {
	case m.State == provider.StateDeleting:
		if due(m.goneAt) {
			delete(c.machines, m.ClaimUID)
			delete(c.names, m.NodeName)
			c.over[m.ClaimUID] = m.Attempt
			c.events = append(c.events, Event{Kind: Gone, At: m.goneAt, Machine: *m})
		}
		return
	case due(m.stopsAt):
		m.State, m.On, m.stopsAt = provider.StatePending, false, time.Time{}
	case m.State == provider.StateCreating && due(m.runsAt):
		m.State, m.On = provider.StateRunning, true
	}
	if !m.joined && due(m.joinsAt) {
		if turn := c.turn(m); turn.After(m.joinsAt) {
			m.joinsAt = turn
			c.alarms.set(turn, m.ClaimUID)
			return
		}
		m.joined, c.last = true, m.joinsAt
		kind := Joined
		if m.stopped {
			kind = Returned
		}
		c.events = append(c.events, Event{Kind: kind, At: m.joinsAt, Machine: *m})
	}
}

// turn is when a machine may register its Node that could now: see Config.Apart.
func (c *Cloud) turn(m *Machine) time.Time {
	if c.config.Apart == 0 {
		return m.joinsAt
	}
	next := func(a, b time.Time) time.Time {
		if b = b.Add(c.config.Apart); b.After(a) {
			return b
		}
		return a
	}
	first := next(m.joinsAt, c.last)
	turn := first
	for _, o := range c.machines {
		waits := !o.joined && !o.joinsAt.IsZero() && o.State != provider.StateDeleting
		if waits && o.NodeName < m.NodeName && o.joinsAt.Before(first.Add(c.config.Apart)) {
			turn = next(turn, o.joinsAt)
		}
	}
	return turn
}

// alarm is a time at which to look at the machine of a claim.
type alarm struct {
	at    time.Time
	claim types.UID
}

// alarms is a heap; equal times are ordered by claim, so that a run can be repeated.
type alarms []alarm

func (a *alarms) set(at time.Time, claim types.UID) { heap.Push(a, alarm{at, claim}) }

func (a alarms) Len() int { return len(a) }
func (a alarms) Less(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].claim < a[j].claim
}
func (a alarms) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *alarms) Push(x any)   { *a = append(*a, x.(alarm)) }
func (a *alarms) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}
