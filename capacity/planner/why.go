package planner

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
)

// explain says of every pod that is left why no pool takes it.
func (p *planner) explain() {
	for _, b := range p.batches {
		if len(b.pods) == 0 {
			continue
		}
		p.unserved = true
		told := p.market.why(b.class)
		for _, s := range b.pods {
			p.plan.Outcomes[s.Pod.UID] = told
		}
	}
}

func (m *market) why(c *class) capacity.Outcome {
	out := capacity.Outcome{Fate: capacity.Unserved}
	switch {
	case c.ask.Unjudged.Code != "":
		out.Reason = c.ask.Unjudged
		return out
	case len(m.vendors) == 0:
		out.Reason = capacity.Reason{Code: capacity.CodeNoPool}
		return out
	}
	for _, s := range m.vendors {
		r := capacity.PoolReason{Pool: s.pool.Name, Reason: m.whyNot(s, c)}
		if out.Reason.Code == "" || nearness(r.Reason.Code) > nearness(out.Reason.Code) {
			out.Reason = r.Reason
		}
		out.Pools = append(out.Pools, r)
	}
	slices.SortFunc(out.Pools, func(a, b capacity.PoolReason) int { return cmp.Compare(a.Pool, b.Pool) })
	return out
}

// nearness ranks reasons by how little is missing: the nearest is told where only one can be.
func nearness(c capacity.Code) int {
	return slices.Index([]capacity.Code{
		capacity.CodeTaint, capacity.CodeAffinity, capacity.CodeInsufficient, capacity.CodeResourceClaims, capacity.CodeTooManyPods, capacity.CodeTooLarge,
		capacity.CodePoolNotReady, capacity.CodePoolBackoff, capacity.CodePoolFrozen, capacity.CodeBought, capacity.CodePoolLimit,
	}, c)
}

// whyNot is why a pool does not take a class: its nodes would refuse the pod, or have no room for it, or the pool may not
// grow.
func (m *market) whyNot(s *vendor, c *class) capacity.Reason {
	if r, barred := s.barred[c.ask.Signature]; barred {
		return r
	}
	var refused, short capacity.Reason
	for _, b := range s.models() {
		v := b.judge(c)
		switch {
		case b.takes(c):
			return m.whyStopped(s, c)
		case !v.Fits:
			refused = cmp.Or(refused, v.Reason)
		default:
			short = cmp.Or(short, shortOf(c.ask, b))
		}
	}
	for _, b := range s.off {
		if b.takes(c) {
			return backoffReason(s.resting(b.shape))
		}
	}
	if short.Code == capacity.CodeInsufficient {
		return m.whyShort(s, c, short)
	}
	return cmp.Or(short, refused, capacity.Reason{Code: capacity.CodeTooLarge, Detail: "the range has no sizes"})
}

// shortOf is what an empty machine lacks.
func shortOf(a *capacity.Ask, b *blueprint) capacity.Reason {
	if v := capacity.Room(a, b.node().Allocatable, b.room(), nil); !v.Fits {
		return v.Reason
	}
	return capacity.Reason{Code: capacity.CodeTooLarge, Detail: "DaemonSets take more than " + b.shape.Name + " has"}
}

// whyShort tells a resource that the pool does not have at all from one that it has too little of.
func (m *market) whyShort(s *vendor, c *class, short capacity.Reason) capacity.Reason {
	name := corev1.ResourceName(short.Detail)
	at := slices.Index(m.kinds, name)
	var most *blueprint
	for _, b := range s.models() {
		if b.judge(c).Fits && (most == nil || b.free[at] > most.free[at]) {
			most = b
		}
	}
	switch {
	case most.offered[at] > 0:
		return capacity.Reason{Code: capacity.CodeTooLarge, Detail: most.shape.Name + " offers " + string(name) + " " + shown(most.room(), name)}
	case m.classes.Has(name):
		return capacity.Reason{Code: capacity.CodeResourceClaims, Detail: short.Detail}
	}
	return short
}

func shown(r amount.Resources, name corev1.ResourceName) string {
	q := r.List()[name]
	return q.String()
}

// whyStopped is why a pool that has a machine for the class may not buy it.
func (m *market) whyStopped(s *vendor, c *class) capacity.Reason {
	if s.stop.Code != "" {
		return s.stop
	}
	for _, b := range s.models() {
		if !b.takes(c) {
			continue
		}
		if s.sizes != nil {
			b = s.smallestFor(b, c)
		}
		if limit := s.budget.Refuses(b.resources()); limit != "" {
			return capacity.Reason{Code: capacity.CodePoolLimit, Detail: limit}
		}
	}
	if s.slot >= int(s.pool.Spec.Limits.MaxNodes) {
		return capacity.Reason{Code: capacity.CodePoolLimit, Detail: "no free slot"}
	}
	// The pool may grow and would: only a rule about the node's name can have refused the machine.
	return capacity.Reason{Code: capacity.CodeAffinity}
}

// smallestFor is the smallest size that takes a pod of the class, which the largest does.
func (s *vendor) smallestFor(largest *blueprint, c *class) *blueprint {
	cpu, memory := largest.machineFor(c.need)
	if shape, ok := s.sizes.Smallest(cpu, memory); ok {
		if b := s.size(shape); b.takes(c) {
			return b
		}
	}
	return largest
}
