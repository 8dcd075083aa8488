package replay

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/extender"
	"github.com/muster-sh/muster/policy"
)

// muster is `muster serve` without its goroutines: a view fed by the world's watch, the extender's handler, and the
// loops, each called when its timer or its poke says so. It can be dropped at any moment; a new one over the same world
// rebuilds everything from the objects that are there.
type muster struct {
	agenda  *agenda
	live    *capacity.Live
	handler http.Handler
	claims  *control.Claims
	loops   []*loop
	feed    *feed
	due     map[string]*alarm // by claim
	failed  map[string]int    // failed reconciles in a row, by claim
	since   time.Time
	settle  time.Duration
	ctx     context.Context
	cancel  context.CancelFunc
}

// parts are what a muster needs of its world.
type parts struct {
	agenda     *agenda
	api        *api
	kube       *kube
	backends   control.Backends
	schedulers capacity.Schedulers
	delays     Delays
	log        *slog.Logger
	settle     time.Duration
	decide     func(*capacity.View, reaper.Memory, time.Time) reaper.Decision
	machines   func(provider string, all, orphans int)
}

// The settings of `muster serve`.
const (
	tellBurst  = 100
	tellEvery  = 100 * time.Millisecond
	holdAge    = 30 * time.Second
	holdsEvery = 10 * time.Second
	listEvery  = 15 * time.Second
	reapEvery  = time.Second
	expire     = time.Second
	preempts   = 20
	cluster    = "replay"
)

func newMuster(p parts, batch policy.Batch) *muster {
	m := &muster{
		agenda: p.agenda, live: capacity.NewLive(p.schedulers), due: map[string]*alarm{}, failed: map[string]int{},
		since: p.agenda.now, settle: p.settle,
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	now := func() time.Time { return p.agenda.now }
	m.feed = newFeed(p.agenda, p.api, m.live, p.delays.Watch, m.wake, m.wakeNode)
	m.handler = extender.New(extender.Config{
		Core: m.live, Settled: m.settled, Now: now, Logger: p.log,
		Timeout: time.Hour, // of the wall clock: a replay on a slow computer must not end otherwise
	})
	teller := &control.Teller{Kube: p.kube, Log: p.log, Burst: tellBurst, Every: tellEvery}
	gate := &control.Gate{Live: m.live, Kube: p.kube, Backends: p.backends, Log: p.log, Cluster: cluster, Now: now}
	m.claims = &control.Claims{Live: m.live, Kube: p.kube, Nodes: m.feed, Backends: p.backends, Log: p.log, Now: now, Cluster: cluster, Gate: gate, Settled: m.settled}
	preemptor := &control.Preemptor{
		Live: m.live, Kube: p.kube, Teller: teller, Log: p.log, Most: preempts, Gate: gate, Settled: m.settled,
	}
	release := &control.Reaper{Live: m.live, Kube: p.kube, Log: p.log, Decide: p.decide}
	planner := &control.Planner{
		Live: m.live, Kube: p.kube, Teller: teller, Log: p.log, Batch: batch, Parallel: 1, Preemptor: preemptor, Reopen: release.Reopen,
	}
	holds := &control.Holds{Live: m.live, Kube: p.kube, Log: p.log, Age: holdAge}
	providers := &control.Providers{
		Live: m.live, Kube: p.kube, Backends: p.backends, Log: p.log, Machines: p.machines,
		Keeper: &control.Keeper{Live: m.live, Kube: p.kube, Nodes: m.feed, Backends: p.backends, Log: p.log, Cluster: cluster, Gate: gate},
	}
	m.claims.Lead(p.agenda.now)
	m.feed.list()
	m.loop(m.live.Changed(), planner.Tick)
	m.loop(m.live.Changed(), atMost(release.Tick, reapEvery))
	m.loop(m.live.Changed(), preemptor.Tick)
	m.loop(preemptor.Waiting(), preemptor.Tick)
	m.loop(teller.Waiting(), teller.Tick)
	m.loop(m.live.Changed(), atMost(m.askAboutHolds(holds), holdsEvery))
	m.loop(m.live.Changed(), atMost(func(ctx context.Context, now time.Time) time.Duration {
		providers.Tick(ctx, now)
		return 0
	}, listEvery))
	m.loop(m.live.Changed(), atMost(func(_ context.Context, now time.Time) time.Duration { return m.live.Expire(now) }, expire))
	for _, name := range slices.Sorted(maps.Keys(p.api.claims)) {
		m.wake(name)
	}
	return m
}

// stop is a SIGKILL: nothing is finished, nothing is heard any more.
func (m *muster) stop() {
	m.cancel()
	m.feed.stop()
	for _, l := range m.loops {
		l.alarm.stop()
	}
	for _, a := range m.due {
		a.stop()
	}
}

// settled is what kube.Settle says for a Muster that leads from its start.
func (m *muster) settled() error {
	since := m.since
	if bound := m.live.StrangerBound(); bound.After(since) {
		since = bound
	}
	if left := m.settle - m.agenda.now.Sub(since); left > 0 {
		return fmt.Errorf("settling for another %s: earlier answers may still be bound", left)
	}
	return nil
}

// askAboutHolds ticks on while there is a hold.
func (m *muster) askAboutHolds(h *control.Holds) func(context.Context, time.Time) time.Duration {
	return func(ctx context.Context, now time.Time) time.Duration {
		h.Tick(ctx, now)
		if len(m.live.HoldsBefore(now.Add(time.Hour))) > 0 {
			return holdsEvery
		}
		return 0
	}
}

// loop is one of control's loops: it ticks at once, whenever it is poked, and when its last tick asked for it.
type loop struct {
	poke  <-chan struct{}
	alarm *alarm
}

// leastWait keeps a loop from spinning, as control's own does.
const leastWait = 10 * time.Millisecond

func (m *muster) loop(poke <-chan struct{}, tick func(context.Context, time.Time) time.Duration) {
	l := &loop{poke: poke}
	l.alarm = m.agenda.alarm(func() {
		if next := tick(m.ctx, m.agenda.now); next > 0 {
			l.alarm.setAt(m.agenda.now.Add(max(next, leastWait)))
		}
	})
	l.alarm.setAt(m.agenda.now)
	m.loops = append(m.loops, l)
}

// poll has the loops tick that were poked.
func (m *muster) poll() {
	for _, l := range m.loops {
		select {
		case <-l.poke:
			l.alarm.setAt(m.agenda.now)
		default:
		}
	}
}

// atMost spares a loop from ticking more often than this, however often it is poked.
func atMost(tick func(context.Context, time.Time) time.Duration, rate time.Duration) func(context.Context, time.Time) time.Duration {
	var last time.Time
	return func(ctx context.Context, now time.Time) time.Duration {
		if left := rate - now.Sub(last); left > 0 {
			return left
		}
		last = now
		return tick(ctx, now)
	}
}

// wake has a claim looked at now.
func (m *muster) wake(claim string) {
	a := m.due[claim]
	if a == nil {
		a = m.agenda.alarm(func() { m.reconcile(claim) })
		m.due[claim] = a
	}
	a.setAt(m.agenda.now)
}

// wakeNode has the claims looked at that a Node belongs to.
func (m *muster) wakeNode(n *corev1.Node) {
	names := m.claims.ClaimsOf(n)
	slices.Sort(names)
	for _, name := range names {
		m.wake(name)
	}
}

// The back-off of a reconcile that failed, as control's queue has it.
const (
	failedFirst = 50 * time.Millisecond
	failedMost  = 10 * time.Second
)

func (m *muster) reconcile(claim string) {
	next, err := m.claims.Reconcile(m.ctx, claim)
	if err != nil {
		m.failed[claim]++
		m.due[claim].notAfter(m.agenda.now.Add(min(failedFirst<<min(m.failed[claim]-1, 10), failedMost)))
		return
	}
	delete(m.failed, claim)
	switch {
	case next > 0:
		m.due[claim].notAfter(m.agenda.now.Add(next))
	case m.live.Claim(claim) == nil && !m.due[claim].set:
		delete(m.due, claim)
	}
}
