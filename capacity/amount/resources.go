package amount

import (
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

// Of reads a resource list. Names that kube-scheduler does not account for are left out.
func Of(list corev1.ResourceList) Resources {
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
				r.Set(name, wholeOf(q))
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

// Set sets the amount of a kind by name. It keeps no zeros: every kubelet reports huge pages of no size, and a map less per node and pod is worth it.
func (r *Resources) Set(name corev1.ResourceName, v int64) {
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
