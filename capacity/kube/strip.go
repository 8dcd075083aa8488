package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// strip keeps of an object in the caches only what the core reads.
func strip(in any) (any, error) {
	switch o := in.(type) {
	case *corev1.Node:
		o.ManagedFields = nil
		o.Status.Images = nil
		o.Status.VolumesInUse, o.Status.VolumesAttached = nil, nil
		return o, nil
	case metav1.Object:
		o.SetManagedFields(nil)
	}
	return in, nil
}
