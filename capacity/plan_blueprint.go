package capacity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/policy"
)

// blueprint is a machine that could be bought, judged as a node.
type blueprint struct {
	vendor *vendor
	shape  v1alpha1.Shape
	cost   float64
	node   *Node
	free   Resources
	// machine is the spec.resources of its claim, which limits count.
	machine corev1.ResourceList
	taken   []verdict // by class
}

type verdict int8

const (
	unjudgedYet verdict = iota
	takenBy
	refusedBy
)

// noSlot makes a name that no machine has: what depends on a node's name is judged again once the slot is chosen.
const noSlot = -1

func (s *vendor) blueprint(shape v1alpha1.Shape) *blueprint {
	claim := NewClaim(s.pool, shape, noSlot)
	node := NodeOfClaim(claim, s.market.daemons)
	b := &blueprint{
		vendor: s, shape: shape, cost: policy.Cost(shape), node: node, free: node.Free(), machine: claim.Spec.Resources,
	}
	b.free.Pods = min(b.free.Pods, maxReserved)
	return b
}

// usable says whether the DaemonSet pods themselves fit.
func (b *blueprint) usable() bool {
	return b.free.MilliCPU >= 0 && b.free.Memory >= 0 && b.free.Pods >= 0
}

// takes says whether an empty machine takes a pod of the class.
func (b *blueprint) takes(c *class) bool {
	if c.id >= len(b.taken) {
		b.taken = slices.Concat(b.taken, make([]verdict, c.id+1-len(b.taken)))
	}
	if b.taken[c.id] == unjudgedYet {
		b.taken[c.id] = refusedBy
		if c.ask.Unjudged.Code == "" && b.usable() && Fit(c.ask, b.node, b.free, nil).Fits {
			b.taken[c.id] = takenBy
		}
	}
	return b.taken[c.id] == takenBy
}
