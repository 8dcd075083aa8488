package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/planner"
	"github.com/muster-sh/muster/policy"
)

// Planner turns shortfalls into claims, wakes pods that fit by now, and has the others told what becomes of them.
type Planner struct {
	Live   *capacity.Live
	Kube   Kube
	Teller *Teller
	Log    *slog.Logger
	Batch  policy.Batch
	// Effort bounds one plan, as capacity.PlanWithin counts it; 0 is no bound.
	Effort int64
	// Parallel is how many claims are written at once.
	Parallel int
	// Settled is nil while place filters are answered; nil means always. A pod that is woken before that asks in vain,
	// which would be taken for a refusal.
	Settled func() error
	// Observe is told about each pass; nil is allowed.
	Observe func(Pass)
	// Reopen takes releases back that these shortfalls have use for, and says whether there were some and whether all are
	// taken back; nil takes none back.
	Reopen func(context.Context, *capacity.View) (some, ok bool)
	// Preemptor takes over the pods for which no pool may grow; nil leaves them alone.
	Preemptor *Preemptor

	buying  *sync.Mutex             // held from the view to the last claim: the reaper buys as well
	planned uint64                  // the generation the last pass saw
	last    time.Time               // when it was
	bought  time.Time               // when a batch was last planned
	due     time.Time               // when the last plan wants to be made again; zero when only events matter
	named   map[types.UID]time.Time // pods whose node was named to the scheduler, and when
}

// Pass is one look at all shortfalls.
type Pass struct {
	Shortfalls, Created int
	Fates               map[capacity.Fate]int
	Bought              bool // the batch window was closed
	// Cost of what was to be bought, for one hour, and the bound below which it could not be.
	Cost, LowerBound float64
}

// The least time between two passes: for two batches, while pods lack room, and while none does.
const (
	buyEvery      = 50 * time.Millisecond
	passEvery     = 200 * time.Millisecond
	idlePassEvery = 2 * time.Second
)

// rest is how long the next pass has to wait. A batch waits for no pass in between.
func (p *Planner) rest(d capacity.Demand, closed bool, now time.Time) time.Duration {
	switch {
	case closed:
		return buyEvery - now.Sub(p.bought)
	case d.Pods > 0:
		return passEvery - now.Sub(p.last)
	}
	return idlePassEvery - now.Sub(p.last)
}

// Tick makes a plan when there is a reason to, and says when to look again; 0 means when something changes.
func (p *Planner) Tick(ctx context.Context, now time.Time) time.Duration {
	demand, generation := p.Live.Demand(), p.Live.Generation()
	window := time.Duration(0)
	if demand.Unplanned > 0 {
		window = p.Batch.Wait(demand.First, demand.Last, now)
	}
	closed := demand.Unplanned > 0 && window == 0
	due := !p.due.IsZero() && !now.Before(p.due)
	if !closed && !due && generation == p.planned {
		return p.sleep(now, window)
	}
	if left := p.rest(demand, closed, now); left > 0 {
		return shortest(left, window)
	}
	if closed {
		p.bought = now
	}
	p.planned, p.last, p.due = generation, now, time.Time{}
	p.pass(ctx, now, window == 0)
	return p.sleep(now, window)
}

func (p *Planner) sleep(now time.Time, window time.Duration) time.Duration {
	var left time.Duration
	if !p.due.IsZero() {
		left = max(p.due.Sub(now), minWait)
	}
	return shortest(left, window)
}

// shortest is the shorter wait; 0 means none.
func shortest(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// pass plans for all shortfalls. While the batch window is open it only wakes pods that fit.
func (p *Planner) pass(ctx context.Context, now time.Time, buy bool) {
	if buy {
		defer lock(p.buying)()
	}
	p.followNominated(now)
	v, ok := p.reopened(ctx)
	if !ok {
		p.due = now.Add(buyEvery) // the batch is not planned: its window stays closed
		return
	}
	plan := planner.PlanWithin(v, now, p.Effort)
	if buy && len(plan.Creates) > 0 {
		v, plan = p.heedFreeze(ctx, v, plan, now)
	}
	if plan.Next > 0 {
		p.wakeAt(now.Add(plan.Next))
	}
	pass := Pass{Shortfalls: len(v.Shortfalls), Fates: map[capacity.Fate]int{}, Bought: buy}
	if buy {
		p.Live.MarkPlanned(v.Shortfalls, plan)
		p.reserve(ctx, plan.Reserve)
		pass.Created, pass.Cost, pass.LowerBound = p.create(ctx, plan.Creates), plan.Cost, plan.LowerBound
		p.tellPools(ctx, v, now)
	}
	p.Preemptor.hear(v, plan.Outcomes, buy, now)
	p.Live.Expect(plan) // their room is kept before they are woken
	named := p.nominate(ctx, v, plan, now)
	for _, s := range v.Shortfalls {
		outcome := plan.Outcomes[s.Pod.UID]
		pass.Fates[outcome.Fate]++
		if !named.Has(s.Pod.UID) {
			p.tell(s, outcome, buy, now)
		}
	}
	for _, pod := range p.Live.TakeLeftOut() {
		why := capacity.Reason{Code: capacity.CodeTooManyWait}
		p.Teller.Say(pod, corev1.ConditionFalse, string(why.Code), why.String())
	}
	for _, pod := range p.Live.TakePlaced() {
		p.Teller.Say(pod, corev1.ConditionTrue, ReasonPlaced, "placed on node "+pod.Node)
	}
	p.Teller.Keep(func(uid types.UID) bool { _, waits := plan.Outcomes[uid]; return waits })
	if p.Observe != nil {
		p.Observe(pass)
	}
}

// reopened is the view in which every closing node that a shortfall has use for is about to open again: no machine is
// bought beside it.
func (p *Planner) reopened(ctx context.Context) (v *capacity.View, ok bool) {
	v = p.Live.View()
	if len(v.Shortfalls) == 0 || p.Reopen == nil {
		return v, true
	}
	some, ok := p.Reopen(ctx, v)
	if some {
		v = p.Live.View()
	}
	return v, ok
}

// heedFreeze makes the plan anew where another freeze holds than the view knows of. Without an answer nothing is ordered, and the
// pods are told so; the pools are told when that lasts.
func (p *Planner) heedFreeze(ctx context.Context, v *capacity.View, plan capacity.Plan, now time.Time) (*capacity.View, capacity.Plan) {
	next, same := latest(ctx, p.Kube, p.Live, p.Log, v)
	if same {
		return v, plan
	}
	plan = planner.PlanWithin(next, now, p.Effort)
	if next.Freeze.Unread() != "" {
		p.wakeAt(now.Add(freezeAgain))
		return v, plan
	}
	return next, plan
}

// create writes the intents. The API server refuses a slot that is taken: then the view was old, and the next plan is
// made with what took it.
func (p *Planner) create(ctx context.Context, creates []capacity.Create) int {
	var (
		mu      sync.Mutex
		created int
		group   sync.WaitGroup
		slots   = make(chan struct{}, max(p.Parallel, 1))
	)
	for _, c := range p.held(ctx, creates) {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if p.createOne(ctx, c) {
				mu.Lock()
				created++
				mu.Unlock()
			}
		})
		if p.Parallel <= 1 {
			group.Wait()
		}
	}
	group.Wait()
	return created
}

// held are those whose NodePool and Provider carry Muster's finalizers.
func (p *Planner) held(ctx context.Context, creates []capacity.Create) []capacity.Create {
	var out []capacity.Create
	failed := map[string]error{}
	for _, c := range creates {
		pool := c.Claim.Spec.Pool
		err, known := failed[pool]
		if !known {
			if err = hold(ctx, p.Live, p.Kube, pool, c.Claim.Spec.Provider); err != nil && !Conflict(err) {
				p.Log.Error("cannot create claims", "pool", pool, "error", err)
			}
			failed[pool] = err
		}
		if err != nil {
			p.planAgain(c.Pods)
			continue
		}
		out = append(out, c)
	}
	return out
}

func (p *Planner) createOne(ctx context.Context, c capacity.Create) bool {
	made, err := p.Kube.CreateClaim(ctx, c.Claim)
	switch {
	case apierrors.IsAlreadyExists(err):
		p.Log.Info("slot is taken, planning again", "claim", c.Claim.Name)
		p.planAgain(c.Pods)
		return false
	case err != nil:
		p.Log.Error("cannot create claim", "claim", c.Claim.Name, "error", err)
		p.planAgain(c.Pods)
		return false
	}
	p.Live.SetClaim(made)
	p.Log.Info("machine ordered", "claim", made.Name, "pool", made.Spec.Pool, "shape", made.Spec.Shape,
		"pods", len(c.Pods))
	return true
}

// planAgain has the pods of a claim that was not created counted as not planned yet.
func (p *Planner) planAgain(pods []*capacity.Pod) {
	for _, pod := range pods {
		p.Live.PlanAgain(pod.UID)
	}
}

func (p *Planner) reserve(ctx context.Context, reservations []capacity.Reservation) {
	for _, r := range reservations {
		c := r.Claim.DeepCopy()
		for _, pod := range r.Pods {
			c.Spec.Reserved = append(c.Spec.Reserved, pod.Ref())
		}
		for _, kind := range capacity.KindsOf(r.Pods) {
			if !slices.Contains(c.Spec.OrderedFor, kind) {
				c.Spec.OrderedFor = append(c.Spec.OrderedFor, kind)
			}
		}
		updated, err := p.Kube.UpdateClaim(ctx, c)
		if err != nil {
			if !Conflict(err) {
				p.Log.Warn("cannot reserve room", "claim", c.Name, "error", err)
			}
			p.planAgain(r.Pods)
			continue
		}
		p.Live.SetClaim(updated)
	}
}

// nudgeEvery is the least time between two wake-ups of one pod: a condition's times have whole seconds, and a patch that
// changes nothing wakes nobody.
const nudgeEvery = time.Second

func (p *Planner) tell(s *capacity.Shortfall, o capacity.Outcome, bought bool, now time.Time) {
	switch {
	case o.Fate == capacity.FitsNow:
		p.nudge(s, o.Node, now)
	case !bought, p.Preemptor.takes(s.Pod.UID):
	case o.Fate == capacity.Unserved:
		p.Teller.Say(s.Pod, corev1.ConditionFalse, string(o.Reason.Code), o.String())
	default:
		p.Teller.Say(s.Pod, corev1.ConditionFalse, ReasonOrdered, p.ordered(o))
	}
}

func (p *Planner) nudge(s *capacity.Shortfall, node string, now time.Time) {
	if p.Settled != nil && p.Settled() != nil {
		p.wakeAt(now.Add(passEvery))
		return
	}
	if again := s.Nudged.Add(nudgeEvery); now.Before(again) {
		p.wakeAt(again)
		return
	}
	p.Live.Nudged(s.Pod.UID, now)
	p.Teller.Nudge(s.Pod, "there is room on node "+node)
	p.wakeAt(now.Add(nudgeEvery))
}

func (p *Planner) wakeAt(t time.Time) {
	if p.due.IsZero() || t.Before(p.due) {
		p.due = t
	}
}

// ordered says which machine a pod waits for. How far it is stands in the events, so that the pod is not patched, and
// tried in vain, at every step of its machine.
func (p *Planner) ordered(o capacity.Outcome) string {
	c := p.Live.Claim(o.Claim)
	if c == nil {
		return "waits for machine " + o.Claim
	}
	cpu, memory := c.Spec.Resources[corev1.ResourceCPU], c.Spec.Resources[corev1.ResourceMemory]
	return fmt.Sprintf("waits for machine %s, ordered from pool %s: %s (%s cpu, %s memory)",
		c.Name, c.Spec.Pool, c.Spec.Shape, cpu.String(), memory.String())
}

func (p *Planner) tellPools(ctx context.Context, v *capacity.View, now time.Time) {
	review := experience.Of(v, now)
	if o := v.Outage(now.Add(-capacity.OutageLasts)); o.Ends.After(now) {
		p.wakeAt(o.Ends) // the status says so until then
	}
	p.settleClaims(ctx, v, review)
	for _, pool := range v.Pools {
		for i := range review.Backoffs[pool.Name] {
			if end := review.Backoffs[pool.Name][i].Until.Time; end.After(now) {
				p.wakeAt(end) // the status says so until then
			}
		}
		if fresh := p.Live.Pool(pool.Name); fresh != nil { // this pass may have put the finalizer on
			pool = fresh
		}
		next := PoolStatus(pool, v, review, now)
		if samePoolStatus(pool.Status, next.Status) {
			continue
		}
		switch err := p.Kube.UpdatePoolStatus(ctx, next); {
		case err == nil:
			p.tellStops(pool, next)
			p.tellFreeze(pool, next)
		case !Conflict(err):
			p.Log.Warn("cannot write the pool's status", "pool", pool.Name, "error", err)
		}
	}
}

func samePoolStatus(a, b v1alpha1.NodePoolStatus) bool {
	return equality.Semantic.DeepEqual(a, b)
}
