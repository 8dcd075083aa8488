package control

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/preemption"
)

// Preemptor has running pods make room for pods of higher priority, when no pool may grow for those. For each it promises
// the room in the view, looks again past every cache, evicts, waits until the room is there, and nominates the node. The
// nomination comes last: the scheduler wipes one that is there before the room. A crash in between loses nothing: pods in
// deletion are what the next decision waits for, so nobody is evicted a second time.
type Preemptor struct {
	Live   *capacity.Live
	Kube   Kube
	Teller *Teller
	// Gate permits what cannot be taken back.
	Gate *Gate
	Log  *slog.Logger
	// Most is how many pods have others evicted in one pass.
	Most int
	// Settled is nil while place filters are answered; nil means always. Before that, earlier answers may still be bound.
	Settled func() error
	// Observe is told what becomes of each preemption; nil is allowed.
	Observe func(outcome PreemptionOutcome, victims int)

	mu       sync.Mutex
	hopeless map[types.UID]capacity.Outcome // what the planner last said
	news     bool                           // since the last decision
	poke     chan struct{}

	under  map[types.UID]*preempting
	brakes brakes
	seen   uint64    // the generation the last decision saw
	last   time.Time // when it was
	due    time.Time // when to decide again although nothing changed
}

// PreemptionOutcome is what becomes of a preemption, for metrics.
type PreemptionOutcome string

// The outcomes: each preemption is Started or Blocked, and a started one ends in one of the others.
const (
	PreemptionStarted PreemptionOutcome = "started" // victims were evicted, or are waited for
	PreemptionBlocked PreemptionOutcome = "blocked" // the Eviction API refused, or what was decided on had changed
	PreemptionPlaced  PreemptionOutcome = "placed"  // the pod is on its node, or went elsewhere, or is gone
	PreemptionStuck   PreemptionOutcome = "stuck"   // the victims did not leave in time, or the node went away
	PreemptionVain    PreemptionOutcome = "vain"    // the room was there, and the scheduler did not take it
)

// Waiting is poked when the planner found pods for which no pool may grow.
func (p *Preemptor) Waiting() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pokes()
}

func (p *Preemptor) pokes() chan struct{} {
	if p.poke == nil {
		p.poke = make(chan struct{}, 1)
	}
	return p.poke
}

// hear takes in what a plan says of all shortfalls. Pods with a priority above that of any pod that runs are taken up when
// the batch window has closed, and dropped as soon as something else can be done for them.
func (p *Preemptor) hear(v *capacity.View, outcomes map[types.UID]capacity.Outcome, closed bool, now time.Time) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, lowest := p.hopeless, preemption.Lowest(v)
	p.hopeless = map[types.UID]capacity.Outcome{}
	for _, s := range v.Shortfalls {
		if s.Pod.Priority <= lowest || !v.Schedulers.Place.Has(s.Pod.Scheduler) {
			continue
		}
		_, before := known[s.Pod.UID]
		if o := outcomes[s.Pod.UID]; (closed || before) && preemption.Hopeless(s, o, now) {
			p.hopeless[s.Pod.UID] = o
			p.news = p.news || !before
		}
	}
	if p.news {
		select {
		case p.pokes() <- struct{}{}:
		default:
		}
	}
}

// takes says whether the preemptor has taken a pod up, and so tells it what happens.
func (p *Preemptor) takes(uid types.UID) bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, taken := p.hopeless[uid]
	return taken
}

// take returns the pods taken up, and whether there are new ones among them.
func (p *Preemptor) take() (map[types.UID]capacity.Outcome, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := p.news
	p.news = false
	return maps.Clone(p.hopeless), news
}

const (
	// decideEvery is the least time between two decisions.
	decideEvery = time.Second
	// decideAgain is when one is made although nothing changed that wakes anybody: budgets, back-offs, patience.
	decideAgain = 10 * time.Second
)

// Tick sees to the preemptions under way, decides on new ones, and says when to look again; 0 means when something changes.
func (p *Preemptor) Tick(ctx context.Context, now time.Time) time.Duration {
	if p.Settled != nil && p.Settled() != nil {
		return decideEvery
	}
	if p.under == nil {
		p.under, p.brakes = map[types.UID]*preempting{}, brakes{}
	}
	return shortest(p.follow(ctx, now), p.decide(ctx, now))
}

func (p *Preemptor) decide(ctx context.Context, now time.Time) time.Duration {
	p.mu.Lock()
	idle := len(p.hopeless) == 0
	p.mu.Unlock()
	if idle {
		return 0
	}
	if left := p.last.Add(decideEvery).Sub(now); left > 0 {
		return left
	}
	hopeless, news := p.take()
	if generation := p.Live.Generation(); !news && generation == p.seen && now.Before(p.due) {
		return p.due.Sub(now)
	}
	v := p.Live.View()
	p.last, p.due, p.seen = now, now.Add(decideAgain), v.Generation
	decision := preemption.Decide(v, p.asks(v, hopeless, now), p.Most, now)
	for _, m := range decision.Moves {
		if ctx.Err() != nil {
			return 0
		}
		p.perform(ctx, m, now)
	}
	p.explain(v, hopeless, decision, now)
	if decision.More {
		p.due = now
		return decideEvery
	}
	return decideAgain
}

// asks are the shortfalls that were taken up, each with the nodes that were tried for its like in vain.
func (p *Preemptor) asks(v *capacity.View, hopeless map[types.UID]capacity.Outcome, now time.Time) []preemption.Ask {
	p.brakes.forget(now)
	var asks []preemption.Ask
	for _, s := range v.Shortfalls {
		if _, taken := hopeless[s.Pod.UID]; taken && !p.brakes.stopped(s.Pod) {
			asks = append(asks, preemption.Ask{Shortfall: s, Not: p.brakes.nodes(s.Pod, now)})
		}
	}
	return asks
}

// explain tells the pods that got nothing why no pool takes them, and why no pod makes room.
func (p *Preemptor) explain(v *capacity.View, hopeless map[types.UID]capacity.Outcome, d preemption.Decision, now time.Time) {
	for _, s := range v.Shortfalls {
		o, taken := hopeless[s.Pod.UID]
		if !taken || p.under[s.Pod.UID] != nil {
			continue
		}
		why := cmp.Or(p.brakes.told(s.Pod, now), d.Refused[s.Pod.UID])
		if why.Code == "" {
			continue
		}
		p.Teller.Say(s.Pod, corev1.ConditionFalse, string(o.Reason.Code), o.String()+"; preemption: "+why.String())
	}
}

func (p *Preemptor) observe(outcome PreemptionOutcome, victims int) {
	if p.Observe != nil {
		p.Observe(outcome, victims)
	}
}
