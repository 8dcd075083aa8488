package volume

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"
)

// size is a number of bytes. Quantities are copied before they are compared, since comparing may change them, and Views
// share what is here.
type size struct{ q resource.Quantity }

var (
	largest  = *resource.NewQuantity(math.MaxInt64, resource.BinarySI)
	smallest = *resource.NewQuantity(-math.MaxInt64, resource.BinarySI)
)

// longestExponent: what has a longer one takes hours to be compared; no API server stores it.
const longestExponent = 64

func sizeOf(q resource.Quantity) size {
	if q.Sign() == 0 {
		return size{}
	}
	if _, whole := q.AsInt64(); whole {
		return size{q}
	}
	c := q.DeepCopy()
	switch {
	case c.AsDec().Scale() >= -longestExponent:
		return size{q}
	case q.Sign() > 0:
		return size{largest}
	}
	return size{smallest}
}

func (s size) compare(other size) int { return s.q.Cmp(other.q) }

// bytes rounds up, and stops where 64 bits end.
func (s size) bytes() int64 {
	switch {
	case s.q.Cmp(largest) >= 0:
		return math.MaxInt64
	case s.q.Cmp(smallest) <= 0:
		return -math.MaxInt64
	}
	return s.q.Value()
}
