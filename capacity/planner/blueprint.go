package planner

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/experience"
)

// blueprint is a machine that could be bought, judged as a node.
type blueprint struct {
	*family
	*capacity.Good
	shape v1alpha1.Shape
	// offered is what the machine has for DaemonSets and pods, free what it has for pods.
	offered, free vector

	made  *capacity.Node // see node
	list  corev1.ResourceList
	taken map[int]bool // of classes that name machines, by class
}

// family is the machines of a pool that differ in size only: their nodes carry the same labels and taints, but for the
// machine's own names.
type family struct {
	vendor   *vendor
	order    int // among all families
	overhead amount.Resources
	daemons  amount.Resources
	probe    *capacity.Node
	admitted []verdict    // by class
	sizes    []*blueprint // of a fixed list, by rising cost
	byFall   []*blueprint // the same, falling
}

type verdict int8

const (
	unjudgedYet verdict = iota
	takenBy
	refusedBy
)

func (s *vendor) newFamily(shape v1alpha1.Shape) *family {
	claim := capacity.NewClaim(s.pool, shape, capacity.NoSlot)
	node := capacity.NodeOfClaim(claim, s.market.daemons)
	s.market.families++
	return &family{vendor: s, order: s.market.families, overhead: amount.Of(claim.Spec.Overhead), daemons: node.Daemons, probe: node}
}

// blueprint makes one of the pool's machines from what is known of its shape, and what was learned of it unless that is
// nil. No object is made where numbers will do: a pool may have hundreds of shapes, and few of them are bought.
func (s *vendor) blueprint(shape v1alpha1.Shape, g *capacity.Good, x *experience.Forecast) *blueprint {
	b := new(blueprint)
	s.draw(b, shape, g, x)
	return b
}

// draw is blueprint, into memory that is there.
func (s *vendor) draw(b *blueprint, shape v1alpha1.Shape, g *capacity.Good, x *experience.Forecast) {
	f := s.familyOf(shape, g)
	*b = blueprint{family: f, Good: g, shape: shape}
	daemons := &f.daemons
	if s.market.daemonsByName {
		daemons = &b.node().Daemons
	}
	m := s.market
	b.offered, b.free = m.vectors.next(), m.vectors.next()
	if x == nil {
		m.kinds.of(&b.Machine, b.offered)
		b.offered.less(m.kinds.of(&f.overhead, m.spare))
	} else {
		expected := x.Expect(shape.Name, b.Machine, b.Machine.Minus(f.overhead))
		m.kinds.of(&expected, b.offered)
	}
	copy(b.free, b.offered)
	b.free.less(m.kinds.of(daemons, m.spare))
	b.free[atPods] = min(b.free[atPods], maxReserved)
}

// node is the node that the machine would be, but for its name.
func (b *blueprint) node() *capacity.Node {
	if b.made == nil {
		b.made = capacity.NodeOfClaim(b.vendor.newClaim(b.shape, capacity.NoSlot), b.vendor.market.daemons)
	}
	return b.made
}

// room is what the machine has for pods, in all kinds.
func (b *blueprint) room() amount.Resources {
	free := b.node().Free()
	free.Pods = min(free.Pods, maxReserved)
	return free
}

// resources is the spec.resources of the machine's claim, which limits count.
func (b *blueprint) resources() corev1.ResourceList {
	if b.list == nil {
		b.list = capacity.WithPods(b.shape.Resources)
	}
	return b.list
}

// usable says whether the DaemonSet pods themselves fit.
func (b *blueprint) usable() bool {
	return b.free[atCPU] >= 0 && b.free[atMemory] >= 0 && b.free[atPods] >= 0
}

// takes says whether an empty machine takes a pod of the class.
func (b *blueprint) takes(c *class) bool { return b.free.holds(c.need) && b.admits(c) && b.usable() }

// judge judges all but resources.
func (b *blueprint) judge(c *class) capacity.Verdict {
	if c.ask.ByName {
		return c.sim.AdmittedBy(b.node())
	}
	return c.sim.AdmittedBy(b.probe)
}

// admits says whether the machine's node takes a pod of the class, if there is room.
func (b *blueprint) admits(c *class) bool {
	if len(b.vendor.barred) > 0 {
		if _, barred := b.vendor.barred[c.ask.Signature]; barred {
			return false
		}
	}
	if c.ask.ByName {
		return b.admitsByName(c)
	}
	f := b.family
	if c.id >= len(f.admitted) {
		f.admitted = append(f.admitted, make([]verdict, c.id+1-len(f.admitted))...)
	}
	if f.admitted[c.id] == unjudgedYet {
		f.admitted[c.id] = refusedBy
		if c.ask.Unjudged.Code == "" && b.judge(c).Fits {
			f.admitted[c.id] = takenBy
		}
	}
	return f.admitted[c.id] == takenBy
}

func (b *blueprint) admitsByName(c *class) bool {
	taken, judged := b.taken[c.id]
	if !judged {
		if b.taken == nil {
			b.taken = map[int]bool{}
		}
		taken = c.ask.Unjudged.Code == "" && b.judge(c).Fits
		b.taken[c.id] = taken
	}
	return taken
}

// machineFor is how much cpu (milli) and memory (bytes) a machine of the family needs to carry so much.
func (b *blueprint) machineFor(load vector) (milliCPU, memory int64) {
	offers := func(at int) int64 { return amount.Sum(amount.Sum(b.offered[at], -b.free[at]), load[at]) }
	milliCPU, memory = amount.Sum(offers(atCPU), b.overhead.MilliCPU), amount.Sum(offers(atMemory), b.overhead.Memory)
	leastMilliCPU, leastMemory := b.vendor.experience.Holding(offers(atCPU), offers(atMemory))
	return max(milliCPU, leastMilliCPU), max(memory, leastMemory)
}

// newClaim is NewClaim with what a node of the shape is expected to offer, where that is less than what it is to have.
func (s *vendor) newClaim(shape v1alpha1.Shape, slot int) *v1alpha1.NodeClaim {
	claim := capacity.NewClaim(s.pool, shape, slot)
	said := capacity.Promised(claim)
	if expected := s.experience.Expect(shape.Name, amount.Of(claim.Spec.Resources), said); !expected.Equal(said) {
		claim.Spec.Allocatable = expected.List()
	}
	return claim
}
