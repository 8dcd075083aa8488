package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/policy"
)

// market is all pools with what each may still sell.
type market struct {
	vendors []*vendor // by weight, then name
	tiers   [][]*vendor
	daemons []*Daemon
	classes Classes
	sim     *Simulation
	// families is how many there are so far.
	families int
	kinds    kinds
	most     vector         // of each kind that any machine offers
	quotes   map[int]*quote // of each tier, before anything is bought
	// daemonsByName says that a DaemonSet picks machines by name or size.
	daemonsByName bool
	now           time.Time
}

// vendor is a pool.
type vendor struct {
	pool *v1alpha1.NodePool
	tier int
	// stop says why the pool may not grow now, whatever its limits; until is when that ends, if it does by itself.
	stop  Reason
	until time.Time

	budget *policy.Budget
	live   int32           // claims that are, or will be, nodes
	names  map[string]bool // of all claims
	slot   int             // no slot below it is free
	sizes  *policy.Sizes
	fixed  []*blueprint
	sized  map[string]*blueprint // of a range, by the name of the size
	market *market
	// families by the labels of their shapes
	families map[string]*family

	barred map[string]Reason // kinds of pods (Ask.Signature) that nothing is bought for
}

func newMarket(v *View, sim *Simulation, k kinds, now time.Time) *market {
	m := &market{daemons: v.Daemons, classes: v.Classes, sim: sim, kinds: k, now: now}
	for _, d := range v.Daemons {
		m.daemonsByName = m.daemonsByName || d.node != "" || d.Ask.byName
	}
	names := make(map[string]bool, len(v.Claims))
	byPool := map[string][]*v1alpha1.NodeClaim{}
	for _, c := range v.Claims {
		names[c.Object.Name] = true
		byPool[c.Object.Spec.Pool] = append(byPool[c.Object.Spec.Pool], c.Object)
	}
	for tier, pools := range policy.Tiers(v.Pools) {
		m.tiers = append(m.tiers, nil)
		for _, pool := range pools {
			seller := m.newVendor(pool, byPool[pool.Name], names)
			seller.tier = tier
			if seller.stop.Code == "" {
				seller.stop = providerStop(pool, v.Providers[pool.Spec.Provider])
			}
			m.vendors = append(m.vendors, seller)
			m.tiers[tier] = append(m.tiers[tier], seller)
		}
	}
	return m
}

func (m *market) newVendor(pool *v1alpha1.NodePool, claims []*v1alpha1.NodeClaim, names map[string]bool) *vendor {
	s := &vendor{
		pool: pool, names: names, market: m, sized: map[string]*blueprint{}, families: map[string]*family{},
		budget: policy.NewBudget(pool.Spec.Limits, pool.Spec.ScaleUp.MaxInFlight),
	}
	for _, c := range claims {
		s.budget.Spend(c.Spec.Resources, InFlight(c))
		if !Closed(c) {
			s.live++
		}
		s.backOff(c, m.now)
	}
	if r := pool.Spec.Template.Range; r != nil {
		sizes := policy.SizesOf(r)
		s.sizes = &sizes
	}
	for _, shape := range pool.Spec.Template.Shapes {
		f := s.familyOf(shape)
		b := f.blueprint(shape)
		s.fixed, f.sizes = append(s.fixed, b), append(f.sizes, b)
	}
	for _, f := range s.families {
		slices.SortStableFunc(f.sizes, func(a, b *blueprint) int { return cmp.Compare(a.cost, b.cost) })
	}
	return s
}

// familyOf is the family that a shape belongs to.
func (s *vendor) familyOf(shape v1alpha1.Shape) *family {
	labels := ""
	for _, name := range slices.Sorted(maps.Keys(shape.Labels)) {
		labels += name + "=" + shape.Labels[name] + ","
	}
	f := s.families[labels]
	if f == nil {
		f = s.newFamily(shape)
		s.families[labels] = f
	}
	return f
}

// backOff stops the pool while a claim that failed waits for its end.
func (s *vendor) backOff(c *v1alpha1.NodeClaim, now time.Time) {
	next := c.Status.NextAttempt
	if c.Status.State != v1alpha1.ClaimFailed || next == nil || !next.After(now) {
		return
	}
	if s.until.IsZero() || next.After(s.until) {
		s.until = next.Time
		s.stop = Reason{Code: CodePoolBackoff, Detail: failure(c)}
	}
}

// failure is the class of the error that a claim failed with.
func failure(c *v1alpha1.NodeClaim) string {
	if launched := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionLaunched); launched != nil {
		return launched.Reason
	}
	return string(c.Status.State)
}

func providerStop(pool *v1alpha1.NodePool, p *v1alpha1.Provider) Reason {
	switch {
	case pool.DeletionTimestamp != nil:
		return Reason{Code: CodePoolNotReady, Detail: "the pool is being deleted"}
	case p == nil:
		return Reason{Code: CodePoolNotReady, Detail: pool.Spec.Provider + " does not exist"}
	}
	if ready := meta.FindStatusCondition(p.Status.Conditions, "Ready"); ready != nil && ready.Status == "False" {
		return Reason{Code: CodePoolNotReady, Detail: pool.Spec.Provider + " (" + ready.Reason + ")"}
	}
	return Reason{}
}

// models are the machines that show what the pool could sell if it were empty: its shapes, or the largest of its range.
func (s *vendor) models() []*blueprint {
	if s.sizes == nil {
		return s.fixed
	}
	if shape, ok := s.sizes.Largest(math.MaxInt64, math.MaxInt64); ok {
		return []*blueprint{s.size(shape)}
	}
	return nil
}

// onSale are the machines to fill under what is left of the budget.
func (s *vendor) onSale(left *policy.Budget) []*blueprint {
	if s.stop.Code != "" {
		return nil
	}
	if s.sizes == nil {
		return s.fixed
	}
	if shape, ok := s.sizes.Largest(left.Bound()); ok {
		return []*blueprint{s.size(shape)}
	}
	return nil
}

func (s *vendor) size(shape v1alpha1.Shape) *blueprint {
	b := s.sized[shape.Name]
	if b == nil {
		b = s.familyOf(shape).blueprint(shape)
		s.sized[shape.Name] = b
	}
	return b
}

// next is when the first pool that stopped may grow again, if anybody waits for that.
func (m *market) next(wanted bool) time.Duration {
	var next time.Duration
	for _, s := range m.vendors {
		if !wanted || s.until.IsZero() {
			continue
		}
		if left := s.until.Sub(m.now); next == 0 || left < next {
			next = left
		}
	}
	return next
}
