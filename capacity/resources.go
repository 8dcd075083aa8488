package capacity

import (
	"maps"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Resources is an amount of every resource kind: milli CPU, bytes of memory and ephemeral storage, a number of pods, and
// everything else by name in its own unit. The kinds and the rounding are those of kube-scheduler's NodeInfo.
type Resources struct {
	MilliCPU         int64
	Memory           int64
	EphemeralStorage int64
	Pods             int64
	Scalar           map[corev1.ResourceName]int64
}

// ResourcesOf reads a resource list. Names that kube-scheduler does not account for are left out.
func ResourcesOf(list corev1.ResourceList) Resources {
	var r Resources
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = milliOf(q)
		case corev1.ResourceMemory:
			r.Memory = wholeOf(q)
		case corev1.ResourceEphemeralStorage:
			r.EphemeralStorage = wholeOf(q)
		case corev1.ResourcePods:
			r.Pods = wholeOf(q)
		default:
			if isScalar(name) {
				r.setScalar(name, wholeOf(q))
			}
		}
	}
	return r
}

// isScalar follows kube-scheduler's IsScalarResourceName: extended and prefixed native resources, huge pages and
// attachable volumes.
func isScalar(name corev1.ResourceName) bool {
	s := string(name)
	return strings.Contains(s, "/") ||
		strings.HasPrefix(s, corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(s, corev1.ResourceAttachableVolumesPrefix)
}

// setScalar keeps no zeros: every kubelet reports huge pages of no size, and a map less per node and pod is worth it.
func (r *Resources) setScalar(name corev1.ResourceName, v int64) {
	if v == 0 {
		if delete(r.Scalar, name); len(r.Scalar) == 0 {
			r.Scalar = nil
		}
		return
	}
	if r.Scalar == nil {
		r.Scalar = map[corev1.ResourceName]int64{}
	}
	r.Scalar[name] = v
}

// Add adds o to r. A sum past the largest int64 stays there, so that an absurd request can never wrap into a small one.
func (r *Resources) Add(o Resources) {
	r.MilliCPU = addSaturated(r.MilliCPU, o.MilliCPU)
	r.Memory = addSaturated(r.Memory, o.Memory)
	r.EphemeralStorage = addSaturated(r.EphemeralStorage, o.EphemeralStorage)
	r.Pods = addSaturated(r.Pods, o.Pods)
	for name, v := range o.Scalar {
		r.setScalar(name, addSaturated(r.Scalar[name], v))
	}
}

// Sub takes o from r; the result may be negative.
func (r *Resources) Sub(o Resources) {
	r.MilliCPU = addSaturated(r.MilliCPU, -o.MilliCPU)
	r.Memory = addSaturated(r.Memory, -o.Memory)
	r.EphemeralStorage = addSaturated(r.EphemeralStorage, -o.EphemeralStorage)
	r.Pods = addSaturated(r.Pods, -o.Pods)
	for name, v := range o.Scalar {
		r.setScalar(name, addSaturated(r.Scalar[name], -v))
	}
}

func addSaturated(a, b int64) int64 {
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

// IsZero says whether r is nothing at all.
func (r Resources) IsZero() bool { return r.Equal(Resources{}) }

// List writes r as a resource list, without the kinds that are zero.
func (r Resources) List() corev1.ResourceList {
	list := corev1.ResourceList{}
	set := func(name corev1.ResourceName, q *resource.Quantity) {
		if !q.IsZero() {
			list[name] = *q
		}
	}
	set(corev1.ResourceCPU, resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI))
	set(corev1.ResourceMemory, resource.NewQuantity(r.Memory, resource.BinarySI))
	set(corev1.ResourceEphemeralStorage, resource.NewQuantity(r.EphemeralStorage, resource.BinarySI))
	set(corev1.ResourcePods, resource.NewQuantity(r.Pods, resource.DecimalSI))
	for name, v := range r.Scalar {
		set(name, resource.NewQuantity(v, resource.DecimalSI))
	}
	return list
}
