package capacity

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Quantities that do not fit into an int64 stay at its end: Value and MilliValue would wrap them into something small,
// and a pod that asks for 10E cores would ask for none.
var (
	mostWhole = *resource.NewQuantity(math.MaxInt64, resource.DecimalSI)
	mostMilli = *resource.NewMilliQuantity(math.MaxInt64, resource.DecimalSI)

	leastWhole = *resource.NewQuantity(-math.MaxInt64, resource.DecimalSI)
	leastMilli = *resource.NewMilliQuantity(-math.MaxInt64, resource.DecimalSI)
)

func wholeOf(q resource.Quantity) int64 {
	switch {
	case q.Cmp(mostWhole) >= 0:
		return math.MaxInt64
	case q.Cmp(leastWhole) <= 0:
		return -math.MaxInt64
	}
	return q.Value()
}

func milliOf(q resource.Quantity) int64 {
	switch {
	case q.Cmp(mostMilli) >= 0:
		return math.MaxInt64
	case q.Cmp(leastMilli) <= 0:
		return -math.MaxInt64
	}
	return q.MilliValue()
}
