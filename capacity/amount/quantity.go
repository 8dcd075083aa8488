package amount

import "k8s.io/apimachinery/pkg/api/resource"

// most is the largest amount of one kind that is counted, 4 PiB of memory or 4.5e12 cores; what is larger counts as this
// much. Value and MilliValue would wrap it into something small, and a pod that asks for 10E cores would ask for none.
// It is far below the largest int64, so that absurd pods can be added up and taken away again, one at a time, without
// losing what the others take.
const most = int64(1) << 52

var (
	mostWhole, leastWhole = *resource.NewQuantity(most, resource.DecimalSI), *resource.NewQuantity(-most, resource.DecimalSI)
	mostMilli, leastMilli = *resource.NewMilliQuantity(most, resource.DecimalSI),
		*resource.NewMilliQuantity(-most, resource.DecimalSI)
)

// Countable says whether a quantity is of a size that can be compared and added at all. 1E1001000000, twelve bytes, is
// read at once, and then takes hours to be compared with anything; the API server stores nothing of the kind.
func Countable(q resource.Quantity) bool {
	if q.Sign() != 0 {
		if _, whole := q.AsInt64(); whole {
			return true
		}
	}
	return q.AsDec().Scale() >= -longestExponent // q is a copy, which AsDec may change
}

const longestExponent = 64

// countable is the quantity itself, or in the place of one that is not Countable zero, or more than is counted.
func countable(q resource.Quantity) resource.Quantity {
	switch {
	case Countable(q):
		return q
	case q.Sign() > 0:
		return mostWhole
	case q.Sign() < 0:
		return leastWhole
	}
	return resource.Quantity{}
}

func wholeOf(q resource.Quantity) int64 {
	q = countable(q)
	switch {
	case q.Cmp(mostWhole) >= 0:
		return most
	case q.Cmp(leastWhole) <= 0:
		return -most
	}
	return q.Value()
}

func milliOf(q resource.Quantity) int64 {
	q = countable(q)
	switch {
	case q.Cmp(mostMilli) >= 0:
		return most
	case q.Cmp(leastMilli) <= 0:
		return -most
	}
	return q.MilliValue()
}
