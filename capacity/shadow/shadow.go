// Package shadow works out what Muster would do in a cluster that it does not touch. The planner and the reaper are the
// ones that act elsewhere, over the same view; what they order and release is written on paper: claims that exist in this
// process only. A machine that was ordered stays in flight for as long as its pods wait, so that nothing is ordered twice.
// It never becomes a node, since no pod could be bound there; when its pods are bound elsewhere or are gone, the proposal
// ends. It refuses to call a provider or an API server: it has neither.
package shadow

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/capacity/reaper"
	"github.com/muster-sh/muster/policy"
)

// Shadow decides and takes note. Fill in the fields, then Run it or Tick it; Report may be called at any time.
type Shadow struct {
	Live *capacity.Live
	Log  *slog.Logger
	// Batch and Effort are the planner's.
	Batch  policy.Batch
	Effort int64
	// Boot is how long a machine is taken to need from its order until pods may run on it.
	Boot time.Duration
	// Nodes are judged as if a pool had bought them, beside those that carry the label of their pool.
	Nodes []Selector

	once      sync.Once
	paper     *paper
	planner   *control.Planner
	teller    *control.Teller
	adopted   map[string]*v1alpha1.NodeClaim // by node
	adoptions int                            // so far
	memory    reaper.Memory
	looked    uint64    // the generation that was looked at last
	due       time.Time // when a node may be ready to go although nothing changes

	mu   sync.Mutex
	book book
}

func (s *Shadow) begin(now time.Time) {
	quiet := slog.New(slog.DiscardHandler) // what the planner says of machines would read as if they were bought
	s.paper, s.adopted = newPaper(s.Live), map[string]*v1alpha1.NodeClaim{}
	s.teller = &control.Teller{Kube: s.paper, Log: quiet, Burst: 10_000, Every: time.Millisecond}
	s.planner = &control.Planner{
		Live: s.Live, Kube: s.paper, Teller: s.teller, Log: quiet, Batch: s.Batch, Effort: s.Effort, Parallel: 1,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book = newBook(now)
}

// Run works until ctx ends.
func (s *Shadow) Run(ctx context.Context) {
	changed := s.Live.Changed()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-timer.C:
		}
		next := s.Tick(ctx, time.Now())
		timer.Stop()
		timer.Reset(min(max(next, 50*time.Millisecond), lookEvery))
	}
}

// lookEvery is the longest time between two looks.
const lookEvery = time.Second

// Tick looks at the cluster once, decides, and says when to look again at the latest.
func (s *Shadow) Tick(ctx context.Context, now time.Time) time.Duration {
	s.once.Do(func() { s.begin(now) })
	s.paper.now = now
	s.Live.Expire(now)
	if generation := s.Live.Generation(); generation == s.looked && (s.due.IsZero() || now.Before(s.due)) {
		return s.plan(ctx, now)
	}
	s.adopt(s.Live.View())
	next := s.plan(ctx, now)
	v := s.Live.View()
	s.follow(v, now)
	s.release(v, now)
	s.looked = s.Live.Generation()
	return next
}

func (s *Shadow) plan(ctx context.Context, now time.Time) time.Duration {
	next := s.planner.Tick(ctx, now)
	for s.teller.Tick(ctx, now) > 0 {
		continue
	}
	if next <= 0 {
		return lookEvery
	}
	return min(next, lookEvery)
}

// follow brings the proposed machines up to date: new ones are taken in, those nobody waits for any more are ended.
func (s *Shadow) follow(v *capacity.View, now time.Time) {
	claims, _ := s.paper.Claims(context.Background()) // it never fails
	s.mu.Lock()
	ended := s.book.follow(v, claims, s.Live.Pod, now, s.Boot)
	s.book.tell(s.paper.hear(waiting(v)), v)
	fresh := s.book.news()
	s.mu.Unlock()
	for _, m := range fresh {
		s.Log.Info("would buy", "machine", m.Name, "pool", m.Pool, "shape", m.Shape, "cost", m.Cost, "pods", len(m.Pods))
	}
	for _, m := range ended {
		_ = s.paper.DeleteClaim(context.Background(), m.Name, m.uid) // it never fails
		s.Log.Info("would-be machine is no longer needed", "machine", m.Name, "pool", m.Pool, "why", m.Why)
	}
}

// waiting are the pods without room.
func waiting(v *capacity.View) map[types.UID]bool {
	all := make(map[types.UID]bool, len(v.Shortfalls))
	for _, sh := range v.Shortfalls {
		all[sh.Pod.UID] = true
	}
	return all
}

// hear returns what the pods that wait would have been told, and forgets the others.
func (p *paper) hear(wait map[types.UID]bool) map[types.UID]corev1.PodCondition {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.told, func(uid types.UID, _ corev1.PodCondition) bool { return !wait[uid] })
	return maps.Clone(p.told)
}

// release has the reaper decide about what would be left, had all nodes gone that were proposed before.
func (s *Shadow) release(v *capacity.View, now time.Time) {
	s.mu.Lock()
	kept := s.book.keep(v, now)
	gone := s.book.gone()
	s.mu.Unlock()
	for _, r := range kept {
		s.Log.Info("would have had to keep node", "node", r.Node, "pool", r.Pool, "why", r.Why)
	}
	left := absent(v, gone)
	s.memory = s.memory.Follow(left, now)
	d := reaper.Decide(left, s.memory, now)
	if d.Looked {
		s.memory.Moved = now
	}
	if d.Weighed {
		s.memory.Weighed = now
	}
	s.due = time.Time{}
	if d.Next > 0 {
		s.due = now.Add(d.Next)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.book.replace(left, d, now) {
		s.Log.Info("would replace", "nodes", r.Nodes, "pool", r.Pool, "by", r.Shapes, "why", r.Reason, "detail", r.Message)
	}
	for _, r := range d.Release {
		note := s.book.release(r, costOf(v, r.Claim), now)
		s.Log.Info("would release", "node", note.Node, "pool", note.Pool, "why", note.Reason, "pods", len(note.Pods))
		s.due = now.Add(time.Millisecond) // what is left without it may let another go
	}
}

// Report is what would have been done until now.
func (s *Shadow) Report(now time.Time) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.book.report(now)
}

// sorted are the values of a map by their keys.
func sorted[V any](m map[string]V) []V {
	out := make([]V, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}
