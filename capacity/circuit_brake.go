package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// brakes is what circuits mean for one plan.
type brakes struct {
	jury *jury
	// barred are, by pool, the kinds of pods (Ask.Signature) that no machine is bought for.
	barred map[string]map[string]Reason
	// circuits by pool, then Ask.Signature.
	circuits map[string]map[string]*v1alpha1.Circuit
	next     time.Time // when the first probe is due that somebody waits for; zero when none is
}

func newBrakes(v *View, now time.Time) *brakes {
	b := &brakes{
		jury: newJury(v, now), barred: map[string]map[string]Reason{}, circuits: map[string]map[string]*v1alpha1.Circuit{},
	}
	for _, pool := range v.Pools {
		circuits := b.jury.circuits(pool)
		for i := range circuits {
			waiting := b.jury.waiting(circuits[i].Pods)
			if len(waiting) == 0 {
				continue
			}
			if b.circuits[pool.Name] == nil {
				b.circuits[pool.Name], b.barred[pool.Name] = map[string]*v1alpha1.Circuit{}, map[string]Reason{}
			}
			b.circuits[pool.Name][waiting[0].Pod.Ask.Signature] = &circuits[i]
		}
	}
	return b
}

// allows says how many machines a pool may buy for a kind of pods: any number as long as none was in vain, else one at a
// time, and with an open circuit one per hour.
func (b *brakes) allows(pool string, a *Ask) (machines int, limited bool) {
	x := b.circuits[pool][a.Signature]
	if x == nil {
		return 0, false
	}
	under := slices.ContainsFunc(b.jury.byPool[pool], func(c *Claim) bool {
		return slices.Contains(c.Object.Spec.OrderedFor, x.Pods) && !slices.Contains(x.Vain, c.Object.UID) &&
			(InFlight(c.Object) || !Closed(c.Object) && readyFor(c.Object, b.jury.now) < vainAfter)
	})
	if under || x.Open() && b.jury.now.Before(x.NextProbe.Time) {
		return 0, true
	}
	return 1, true
}

// why is what stands in the way, as the last machine in vain showed it.
func (b *brakes) why(pool string, a *Ask) Reason {
	x := b.circuits[pool][a.Signature]
	if !x.Open() || !b.jury.now.Before(x.NextProbe.Time) {
		return Reason{Code: CodeBought, Detail: x.Message + "; one more is tried"}
	}
	return Reason{Code: CodeBought, Detail: fmt.Sprintf("%s; the next is tried at %s", x.Message, x.NextProbe.UTC().Format("15:04 MST"))}
}

// trusts says whether a machine in flight can be expected to take such a pod: not where the pool's machines came up in
// vain for its kind, unless the machine is the one on trial.
func (b *brakes) trusts(c *v1alpha1.NodeClaim, a *Ask) bool {
	x := b.circuits[c.Spec.Pool][a.Signature]
	return x == nil || slices.Contains(c.Spec.OrderedFor, x.Pods)
}

// brake bars pools from buying for pods whose machines were in vain. Where nothing else is left but a pool that may try
// one machine, one pod is bought for, and the others wait for what becomes of it.
func (p *planner) brake() {
	if len(p.brakes.circuits) == 0 {
		return
	}
	for _, s := range p.market.vendors {
		s.barred = p.brakes.barred[s.pool.Name]
	}
	seen := map[string]bool{}
	for _, b := range p.batches {
		if ask := b.class.ask; !seen[ask.Signature] && len(b.pods) > 0 {
			seen[ask.Signature] = true
			p.brakeKind(b)
		}
	}
}

// brakeKind looks at one kind of pods; the batch is the first of its batches that is left.
func (p *planner) brakeKind(first *batch) {
	ask := first.class.ask
	free, trial := false, []string(nil)
	for _, s := range p.market.vendors {
		machines, limited := p.brakes.allows(s.pool.Name, ask)
		switch {
		case limited && machines == 0:
			p.brakes.bar(s.pool.Name, ask)
		case !p.couldBuy(s, first.class):
		case limited:
			trial = append(trial, s.pool.Name)
		default:
			free = true
		}
	}
	if len(trial) == 0 {
		return
	}
	if free {
		for _, pool := range trial {
			p.brakes.bar(pool, ask)
		}
		return
	}
	p.holdBack(first, trial[0])
}

func (b *brakes) bar(pool string, a *Ask) {
	x := b.circuits[pool][a.Signature]
	b.barred[pool][a.Signature] = b.why(pool, a)
	if x.Open() && x.NextProbe.After(b.jury.now) && (b.next.IsZero() || x.NextProbe.Time.Before(b.next)) {
		b.next = x.NextProbe.Time
	}
}

// couldBuy says whether a pool has a machine for a class and may grow.
func (p *planner) couldBuy(s *vendor, c *class) bool {
	return s.stop.Code == "" && s.budget.Refuses(nil) == "" &&
		slices.ContainsFunc(s.models(), func(b *blueprint) bool { return b.takes(c) })
}

// holdBack leaves the first pod of a kind for a machine on trial.
func (p *planner) holdBack(first *batch, pool string) {
	told := Outcome{Fate: Unserved, Reason: p.brakes.why(pool, first.class.ask)}
	told.Pools = []PoolReason{{Pool: pool, Reason: told.Reason}}
	for _, b := range p.batches {
		if b.class.ask.Signature != first.class.ask.Signature {
			continue
		}
		kept := 0
		if b == first {
			kept = 1
		}
		for _, s := range b.pods[min(kept, len(b.pods)):] {
			p.plan.Outcomes[s.Pod.UID] = told
			p.unserved = true
		}
		b.pods = b.pods[:min(kept, len(b.pods))]
	}
}

// noteKinds writes into the claims of a plan what kinds of pods they are for, and has the plan made again when a probe
// is due.
func (p *planner) noteKinds() {
	for i := range p.plan.Creates {
		c := &p.plan.Creates[i]
		c.Claim.Spec.OrderedFor = KindsOf(c.Pods)
	}
	if next := p.brakes.next; !next.IsZero() {
		if left := next.Sub(p.brakes.jury.now); p.plan.Next == 0 || left < p.plan.Next {
			p.plan.Next = left
		}
	}
}

// KindsOf are the kinds of some pods, for spec.orderedFor of their claim, in the order of the pods.
func KindsOf(pods []*Pod) []string {
	var kinds []string
	seen := map[string]bool{}
	for _, p := range pods {
		if !seen[p.Ask.Signature] {
			seen[p.Ask.Signature] = true
			kinds = append(kinds, PodsKey(p.Ask))
		}
	}
	return kinds
}

// OpenCircuits counts, for each pool, the kinds of pods that it buys no more than a probe for, as its status says.
func (l *Live) OpenCircuits() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	open := make(map[string]int, len(l.pools))
	for name, p := range l.pools {
		open[name] = 0
		for i := range p.Status.Circuits {
			if p.Status.Circuits[i].Open() {
				open[name]++
			}
		}
	}
	return open
}
