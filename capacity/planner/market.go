package planner

import (
	"math"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
	"github.com/muster-sh/muster/capacity/simulation"
	"github.com/muster-sh/muster/policy"
)

// market is all pools with what each may still sell.
type market struct {
	vendors []*vendor // by weight, then name
	tiers   [][]*vendor
	daemons []*capacity.Daemon
	classes capacity.Classes
	sim     *simulation.Simulation
	// families is how many there are so far.
	families int
	kinds    kinds
	vectors  *slab
	spare    vector         // for what is worked out on the way
	most     vector         // of each kind that any machine offers
	quotes   map[int]*quote // of each tier, before anything is bought
	wanted   vector         // by all pods that wait
	// daemonsByName says that a DaemonSet picks machines by name or size, picky that it or a pod that waits does.
	daemonsByName, picky bool
	now                  time.Time
}

// vendor is a pool.
type vendor struct {
	pool *v1alpha1.NodePool
	tier int
	// stop says why the pool may not grow now, whatever its limits; until is when that ends, if it does by itself.
	stop  capacity.Reason
	until time.Time

	budget *policy.Budget
	live   int32           // claims that are, or will be, nodes
	names  map[string]bool // of all claims
	slot   int             // no slot below it is free
	sizes  *policy.Sizes
	fixed  []*blueprint
	above  vector                // the most of each kind that a shape above its ceiling has
	sized  map[string]*blueprint // of a range, by the name of the size
	market *market
	// families by the labels of their shapes
	families map[string]*family

	barred map[string]capacity.Reason // kinds of pods (Ask.Signature) that nothing is bought for

	experience *experience.Forecast // nil where nothing was learned

	waits []v1alpha1.PoolBackoff // of single shapes
	off   []*blueprint           // shapes that are not on sale because of that
}

func newMarket(v *capacity.View, sim *simulation.Simulation, k kinds, now time.Time) *market {
	m := &market{daemons: v.Daemons, classes: v.Classes, sim: sim, kinds: k, now: now, vectors: &slab{width: len(k)}}
	m.spare = m.vectors.next()
	for _, d := range v.Daemons {
		m.daemonsByName = m.daemonsByName || d.Node != "" || d.Ask.ByName
	}
	m.wanted = k.sum(v.Shortfalls)
	m.picky = m.daemonsByName || slices.ContainsFunc(v.Shortfalls, func(s *capacity.Shortfall) bool { return s.Pod.Ask.ByName })
	names := make(map[string]bool, len(v.Claims))
	byPool := map[string][]*capacity.Claim{}
	for _, c := range v.Claims {
		names[c.Object.Name] = true
		byPool[c.Object.Spec.Pool] = append(byPool[c.Object.Spec.Pool], c)
	}
	for tier, pools := range policy.Tiers(v.Pools) {
		m.tiers = append(m.tiers, nil)
		for _, pool := range pools {
			seller := m.newVendor(v, pool, byPool[pool.Name], names)
			seller.tier = tier
			if seller.stop.Code == "" {
				seller.stop = providerStop(pool, v.Providers[pool.Spec.Provider])
			}
			if frozen, why := v.Freeze.Provisioning(pool.Name); frozen {
				seller.stop, seller.until = capacity.Reason{Code: capacity.CodePoolFrozen, Detail: why}, time.Time{}
			}
			m.vendors = append(m.vendors, seller)
			m.tiers[tier] = append(m.tiers[tier], seller)
		}
	}
	return m
}

func (m *market) newVendor(v *capacity.View, pool *v1alpha1.NodePool, claims []*capacity.Claim, names map[string]bool) *vendor {
	s := &vendor{
		pool: pool, names: names, market: m, sized: map[string]*blueprint{}, families: map[string]*family{},
		budget: policy.NewBudget(pool.Spec.Limits, pool.Spec.ScaleUp.MaxInFlight),
	}
	for _, c := range claims {
		s.budget.Spend(c.Object.Spec.Resources, c.InFlight())
		if !capacity.Closed(c.Object) {
			s.live++
		}
	}
	s.backOff(experience.Backoffs(v, pool, claims, m.now), m.now)
	s.experience = experience.NewForecast(pool, experience.Believed(experience.LearnedShapes(v, pool, claims, m.now), m.now))
	if r := pool.Spec.Template.Range; r != nil {
		sizes := policy.SizesOf(r)
		s.sizes = &sizes
	}
	s.stock(v.Template(pool))
	return s
}

// familyOf is the family that a shape belongs to.
func (s *vendor) familyOf(shape v1alpha1.Shape, g *capacity.Good) *family {
	f := s.families[g.Labels]
	if f == nil {
		f = s.newFamily(shape)
		s.families[g.Labels] = f
	}
	return f
}

func providerStop(pool *v1alpha1.NodePool, p *v1alpha1.Provider) capacity.Reason {
	if pool.DeletionTimestamp != nil {
		return capacity.Reason{Code: capacity.CodePoolNotReady, Detail: "the pool is being deleted"}
	}
	if why, text := capacity.ProviderTrouble(pool.Spec.Provider, p); why != "" {
		return capacity.Reason{Code: capacity.CodePoolNotReady, Detail: text}
	}
	return capacity.Reason{}
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
		b = s.blueprint(shape, capacity.GoodOf(shape), s.experience)
		s.sized[shape.Name] = b
	}
	return b
}

// next is when the first pool that stopped may grow again, if anybody waits for that.
func (m *market) next(wanted bool) time.Duration {
	var next time.Duration
	for _, s := range m.vendors {
		if !wanted {
			continue
		}
		for i := range s.waits {
			next = sooner(next, s.waits[i].Until.Sub(m.now))
		}
		if !s.until.IsZero() {
			next = sooner(next, s.until.Sub(m.now))
		}
	}
	return next
}

// sooner is the shorter wait; 0 is none.
func sooner(next, left time.Duration) time.Duration {
	if next == 0 || left < next {
		return left
	}
	return next
}
