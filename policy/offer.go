package policy

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// What a machine without a price is taken to cost, per hour and in no currency: the usual ratio of rented machines, one
// core for 7.5 GiB, and something for every machine, since each runs a system of its own; so of two ways to carry the same
// pods the one with fewer machines wins. Pools of one weight should have prices for all of their shapes, or for none.
const (
	MachineHour = 0.010
	CoreHour    = 0.030
	GiBHour     = 0.004
)

// Cost of one machine for one hour: its price if it has one, else what its cpu and memory are taken to cost.
func Cost(s v1alpha1.Shape) float64 {
	if s.Price != nil {
		return math.Max(s.Price.AsApproximateFloat64(), 0)
	}
	cpu, memory := s.Resources[corev1.ResourceCPU], s.Resources[corev1.ResourceMemory]
	return MachineHour + float64(CoreHour*cpu.AsApproximateFloat64()) +
		float64(GiBHour*memory.AsApproximateFloat64()/(1<<30))
}

// Offer is one machine that could be bought, and what it would carry.
type Offer struct {
	// Cost of the machine for one hour.
	Cost float64
	// Packed is the sum of the sizes of the pods it would carry; a pod's size is its share of the resource that it
	// takes most of. It is greater than zero.
	Packed float64
	// Idle says that the machine has extended resources (a GPU) that none of these pods asks for.
	Idle bool
}

// Goal is what a good offer is.
type Goal int

// The goals. A plan tries each and keeps the better result: the cheapest machine for each pod may use a limited number
// of machines up, and many small machines may cost what one large one does.
const (
	Cheap Goal = iota // least cost for what is packed
	Large             // most packed into one machine
)

// Goals lists them all.
func Goals() []Goal { return []Goal{Cheap, Large} }

// Better says whether a is the better offer. A machine whose extended resources would lie idle comes last, so that it
// stays free for pods that ask for them. Equal offers are left in the order in which they came.
func (g Goal) Better(a, b Offer) bool {
	if a.Idle != b.Idle {
		return b.Idle
	}
	order := compare(a.Cost/a.Packed, b.Cost/b.Packed)
	packed := compare(b.Packed, a.Packed)
	if g == Large {
		order, packed = packed, order
	}
	if order != 0 {
		return order < 0
	}
	return packed < 0
}

// compare takes numbers for equal that differ by rounding only.
func compare(a, b float64) int {
	switch {
	case math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)):
		return 0
	case a < b:
		return -1
	}
	return 1
}
