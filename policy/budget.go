package policy

import (
	"maps"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Budget is what a pool may still buy under its limits. Sums are kept as quantities, which do not overflow.
type Budget struct {
	limits      v1alpha1.Limits
	maxInFlight int32

	nodes    int32
	inFlight int32
	left     corev1.ResourceList // of the kinds that are limited; negative when a limit was lowered
}

// NewBudget is the budget of a pool that has no machine yet.
func NewBudget(limits v1alpha1.Limits, maxInFlight int32) *Budget {
	limits.MaxNodes = min(limits.MaxNodes, v1alpha1.MaxPoolNodes)
	return &Budget{limits: limits, maxInFlight: maxInFlight, left: limits.Resources.DeepCopy()}
}

// Spend counts a machine that the pool has. Whatever its state, it counts: an orphan may still run, and a claim that
// failed keeps its slot until its back-off ends.
func (b *Budget) Spend(machine corev1.ResourceList, inFlight bool) {
	b.nodes++
	if inFlight {
		b.inFlight++
	}
	for name, left := range b.left {
		if q, ok := machine[name]; ok {
			left.Sub(q)
			b.left[name] = left
		}
	}
}

// Refund undoes Spend for a machine in flight that is not bought after all.
func (b *Budget) Refund(machine corev1.ResourceList) {
	b.nodes--
	b.inFlight--
	for name, left := range b.left {
		if q, ok := machine[name]; ok {
			left.Add(q)
			b.left[name] = left
		}
	}
}

// Refuses names the limit that one more such machine would pass, or is empty. Where several would be passed, it is the
// first of maxNodes, maxInFlight and the resources by name.
func (b *Budget) Refuses(machine corev1.ResourceList) string {
	switch {
	case b.nodes >= b.limits.MaxNodes:
		return "maxNodes " + strconv.Itoa(int(b.limits.MaxNodes))
	case b.maxInFlight > 0 && b.inFlight >= b.maxInFlight:
		return "maxInFlight " + strconv.Itoa(int(b.maxInFlight))
	}
	for _, name := range slices.Sorted(maps.Keys(b.left)) {
		left := b.left[name]
		if q, ok := machine[name]; ok && q.Cmp(left) > 0 {
			limit := b.limits.Resources[name]
			return string(name) + " " + limit.String()
		}
	}
	return ""
}

// Nodes is how many machines the pool has.
func (b *Budget) Nodes() int32 { return b.nodes }

// Clone copies b, for a plan that may be dropped.
func (b *Budget) Clone() *Budget {
	c := *b
	c.left = b.left.DeepCopy()
	return &c
}

// Bound is what is left of cpu (milli) and memory (bytes): nothing where a limit was passed, the largest number where
// there is none.
func (b *Budget) Bound() (milliCPU, memory int64) {
	milliCPU, memory = math.MaxInt64, math.MaxInt64
	if q, ok := b.left[corev1.ResourceCPU]; ok && q.Sign() <= 0 {
		milliCPU = 0
	} else if ok && q.Cmp(mostMilli) < 0 {
		milliCPU = q.MilliValue()
	}
	if q, ok := b.left[corev1.ResourceMemory]; ok && q.Sign() <= 0 {
		memory = 0
	} else if ok && q.Cmp(most) < 0 {
		memory = q.Value()
	}
	return milliCPU, memory
}

var (
	most      = *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
	mostMilli = *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)
)
