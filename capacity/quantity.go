package capacity

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

func wholeOf(q resource.Quantity) int64 {
	switch {
	case q.Cmp(mostWhole) >= 0:
		return most
	case q.Cmp(leastWhole) <= 0:
		return -most
	}
	return q.Value()
}

func milliOf(q resource.Quantity) int64 {
	switch {
	case q.Cmp(mostMilli) >= 0:
		return most
	case q.Cmp(leastMilli) <= 0:
		return -most
	}
	return q.MilliValue()
}
