package control

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/muster-sh/muster/capacity"
)

// Loops runs everything that only a leader does, in real time.
type Loops struct {
	Live      *capacity.Live
	Claims    *Claims
	Planner   *Planner
	Teller    *Teller
	Preemptor *Preemptor // nil where no pod is to make room for others
	Reaper    *Reaper
	Holds     *Holds
	Providers *Providers
	Freezes   *Freezes // nil where people cannot stop anything
	Log       *slog.Logger
	// Clock is the time of the process; nil is the wall clock, whose waits change when it is set.
	Clock *Clock
	// Workers is how many claims are reconciled at once.
	Workers int

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[string]

	subscribe   sync.Once
	plan, reaps <-chan struct{}
	preempt     <-chan struct{}
}

// Run works until ctx ends, and returns when nothing is under way any more.
func (l *Loops) Run(ctx context.Context) {
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 10*time.Second))
	l.setQueue(queue)
	defer l.setQueue(nil)
	if l.Reaper.buying == nil {
		l.Reaper.buying = &sync.Mutex{}
		l.Planner.buying, l.Providers.buying = l.Reaper.buying, l.Reaper.buying
	}
	l.Claims.Lead(l.now())
	l.subscribe.Do(func() { l.plan, l.reaps, l.preempt = l.Live.Changed(), l.Live.Changed(), l.Live.Changed() })
	claims, _ := l.Live.Claims()
	for _, c := range claims {
		queue.Add(c.Name)
	}
	var all sync.WaitGroup
	for range l.Workers {
		all.Go(func() { l.work(ctx, queue) })
	}
	all.Go(func() { onChange(ctx, l.now, l.plan, l.Planner.Tick) })
	all.Go(func() { onChange(ctx, l.now, l.reaps, atMost(l.Reaper.Tick, time.Second)) })
	all.Go(func() { onChange(ctx, l.now, l.Teller.Waiting(), l.Teller.Tick) })
	if l.Preemptor != nil {
		poke := either(ctx, l.preempt, l.Preemptor.Waiting())
		all.Go(func() { onChange(ctx, l.now, poke, l.Preemptor.Tick) })
	}
	all.Go(func() { every(ctx, l.now, 10*time.Second, l.Holds.Tick) })
	all.Go(func() { every(ctx, l.now, 15*time.Second, l.Providers.Tick) })
	all.Go(func() { every(ctx, l.now, time.Second, func(_ context.Context, now time.Time) { l.Live.Expire(now) }) })
	if l.Clock != nil {
		all.Go(func() { every(ctx, l.now, offsetEvery, l.Clock.watch(l.Log, time.Now)) })
	}
	if l.Freezes != nil {
		all.Go(func() { every(ctx, l.now, freezeEvery, l.Freezes.Tick) })
	}
	<-ctx.Done()
	queue.ShutDown()
	all.Wait()
}

func (l *Loops) now() time.Time {
	if l.Clock == nil {
		return time.Now()
	}
	return l.Clock.Now()
}

func (l *Loops) setQueue(q workqueue.TypedRateLimitingInterface[string]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = q
}

// Wake has a claim looked at now.
func (l *Loops) Wake(claim string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue != nil {
		l.queue.Add(claim)
	}
}

// WakeNode has the claims looked at that a Node belongs to, or did.
func (l *Loops) WakeNode(node *corev1.Node, _ bool) {
	for _, name := range l.Claims.ClaimsOf(node) {
		l.Wake(name)
	}
}

func (l *Loops) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string]) {
	for {
		name, shutdown := queue.Get()
		if shutdown {
			return
		}
		l.reconcile(ctx, queue, name)
		queue.Done(name)
	}
}

func (l *Loops) reconcile(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], name string) {
	next, err := l.Claims.Reconcile(ctx, name)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !Conflict(err) {
			l.Log.Error("claim not reconciled", "claim", name, "error", err)
		}
		queue.AddRateLimited(name)
	default:
		queue.Forget(name)
		if next > 0 {
			queue.AddAfter(name, next)
		}
	}
}

// onChange ticks at once, whenever poked, and when the last tick asked for it.
func onChange(ctx context.Context, now func() time.Time, poke <-chan struct{}, tick func(context.Context, time.Time) time.Duration) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-poke:
		case <-timer.C:
		}
		next := tick(ctx, now())
		timer.Stop()
		if next > 0 {
			timer.Reset(max(next, minWait))
		}
	}
}

// either is poked when one of two is, until ctx ends.
func either(ctx context.Context, a, b <-chan struct{}) <-chan struct{} {
	c := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-a:
			case <-b:
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return c
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

func every(ctx context.Context, now func() time.Time, period time.Duration, tick func(context.Context, time.Time)) {
	onChange(ctx, now, nil, func(ctx context.Context, now time.Time) time.Duration {
		tick(ctx, now)
		return period
	})
}
