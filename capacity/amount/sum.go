package amount

import (
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
)

// Add adds o to r. A sum past the largest int64 stays there, so that an absurd request can never wrap into a small one.
func (r *Resources) Add(o Resources) {
	r.MilliCPU = Sum(r.MilliCPU, o.MilliCPU)
	r.Memory = Sum(r.Memory, o.Memory)
	r.EphemeralStorage = Sum(r.EphemeralStorage, o.EphemeralStorage)
	r.Pods = Sum(r.Pods, o.Pods)
	for name, v := range o.Scalar {
		r.Set(name, Sum(r.Scalar[name], v))
	}
}

// Sub takes o from r; the result may be negative.
func (r *Resources) Sub(o Resources) {
	r.MilliCPU = Sum(r.MilliCPU, -o.MilliCPU)
	r.Memory = Sum(r.Memory, -o.Memory)
	r.EphemeralStorage = Sum(r.EphemeralStorage, -o.EphemeralStorage)
	r.Pods = Sum(r.Pods, -o.Pods)
	for name, v := range o.Scalar {
		r.Set(name, Sum(r.Scalar[name], -v))
	}
}

// Sum is a and b. What would be past the largest or the smallest int64 stays there.
func Sum(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// Clone copies r.
func (r Resources) Clone() Resources {
	r.Scalar = maps.Clone(r.Scalar)
	return r
}

// Minus is r without o, in a new value.
func (r Resources) Minus(o Resources) Resources {
	c := r.Clone()
	c.Sub(o)
	return c
}

// Plus is r and o, in a new value.
func (r Resources) Plus(o Resources) Resources {
	c := r.Clone()
	c.Add(o)
	return c
}

// Equal says whether r and o are the same amounts; a missing scalar is zero.
func (r Resources) Equal(o Resources) bool {
	if r.MilliCPU != o.MilliCPU || r.Memory != o.Memory || r.EphemeralStorage != o.EphemeralStorage || r.Pods != o.Pods {
		return false
	}
	return scalarsWithin(r.Scalar, o.Scalar) && scalarsWithin(o.Scalar, r.Scalar)
}

func scalarsWithin(a, b map[corev1.ResourceName]int64) bool {
	for name, v := range a {
		if b[name] != v {
			return false
		}
	}
	return true
}

// AddTimes adds o n times; n may be negative.
func (r *Resources) AddTimes(o *Resources, n int64) {
	r.MilliCPU = Sum(r.MilliCPU, o.MilliCPU*n)
	r.Memory = Sum(r.Memory, o.Memory*n)
	r.EphemeralStorage = Sum(r.EphemeralStorage, o.EphemeralStorage*n)
	r.Pods = Sum(r.Pods, o.Pods*n)
	for name, v := range o.Scalar {
		r.Set(name, Sum(r.Scalar[name], v*n))
	}
}

// Least takes the smaller amount of each kind.
func (r Resources) Least(o Resources) Resources {
	out := Resources{
		MilliCPU: min(r.MilliCPU, o.MilliCPU), Memory: min(r.Memory, o.Memory),
		EphemeralStorage: min(r.EphemeralStorage, o.EphemeralStorage), Pods: min(r.Pods, o.Pods),
	}
	for name, v := range r.Scalar {
		out.Set(name, min(v, o.Scalar[name]))
	}
	return out
}

// Overdrawn says whether there is less than none of any kind.
func (r Resources) Overdrawn() bool {
	if r.MilliCPU < 0 || r.Memory < 0 || r.EphemeralStorage < 0 || r.Pods < 0 {
		return true
	}
	for _, v := range r.Scalar {
		if v < 0 {
			return true
		}
	}
	return false
}

// Covers says whether r has as much of every kind as o.
func (r Resources) Covers(o Resources) bool { return !r.Minus(o).Overdrawn() }
