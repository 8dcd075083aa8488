package manifest

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// addStorage reads an object of one of the kinds that decide where volumes can be had, fills it in as the API server and
// the volume controller would, and reports amounts that cannot be.
func addStorage[T any, P interface {
	*T
	metav1.Object
}](namespaced bool, fill func(P), amounts func(P) (path string, list corev1.ResourceList)) func(*Cluster, object) Errors {
	return func(c *Cluster, o object) Errors {
		decoded, errs := decode[T](o)
		if len(errs) > 0 {
			return errs
		}
		read := P(decoded)
		defaultMeta(o, read)
		if fill != nil {
			fill(read)
		}
		c.Storage = append(c.Storage, read)
		errs = checkMeta(o, read, namespaced, validation.NameIsDNSSubdomain)
		if amounts != nil {
			path, list := amounts(read)
			errs = append(errs, checkAmounts(o, path, list)...)
		}
		return errs
	}
}

// The kinds, as they are read.
var (
	addVolumeClaim = addStorage(true, fillClaim, func(c *corev1.PersistentVolumeClaim) (string, corev1.ResourceList) {
		return "spec.resources.requests", c.Spec.Resources.Requests
	})
	addVolume = addStorage(false, fillVolume, func(v *corev1.PersistentVolume) (string, corev1.ResourceList) {
		return "spec.capacity", v.Spec.Capacity
	})
	addStorageClass     = addStorage(false, fillClass, nil)
	addCSINode          = addStorage[storagev1.CSINode](false, nil, nil)
	addCSIDriver        = addStorage[storagev1.CSIDriver](false, nil, nil)
	addStorageCapacity  = addStorage[storagev1.CSIStorageCapacity](true, nil, nil)
	addVolumeAttachment = addStorage[storagev1.VolumeAttachment](false, nil, nil)
)

// bindCompleted is what the volume controller writes when a claim has its volume.
const bindCompleted = "pv.kubernetes.io/bind-completed"

func fillClaim(c *corev1.PersistentVolumeClaim) {
	switch {
	case c.Status.Phase == "":
		c.Status.Phase = corev1.ClaimPending
	case c.Status.Phase == corev1.ClaimBound && c.Spec.VolumeName != "":
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, bindCompleted, "yes")
	}
}

func fillVolume(v *corev1.PersistentVolume) {
	switch {
	case v.Status.Phase != "":
	case v.Spec.ClaimRef == nil:
		v.Status.Phase = corev1.VolumeAvailable
	default:
		v.Status.Phase = corev1.VolumeBound
	}
}

// fillClass: see SetDefaults_StorageClass in https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/storage/v1/defaults.go.
func fillClass(c *storagev1.StorageClass) {
	if c.VolumeBindingMode == nil {
		c.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
	}
}

func addBudget(c *Cluster, o object) Errors {
	budget, errs := decode[policyv1.PodDisruptionBudget](o)
	if len(errs) > 0 {
		return errs
	}
	defaultMeta(o, budget)
	c.Budgets = append(c.Budgets, budget)
	return checkMeta(o, budget, true, validation.NameIsDNSSubdomain)
}

// defaultClass is what the API server gives a claim that names no class: the newest class that is marked as the default.
func (c *Cluster) defaultClass() {
	var best *storagev1.StorageClass
	for _, o := range c.Storage {
		if k, ok := o.(*storagev1.StorageClass); ok && k.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" {
			newer := best == nil || k.CreationTimestamp.After(best.CreationTimestamp.Time)
			if newer || k.CreationTimestamp.Equal(&best.CreationTimestamp) && k.Name < best.Name {
				best = k
			}
		}
	}
	for _, o := range c.Storage {
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok && best != nil && claim.Spec.StorageClassName == nil {
			claim.Spec.StorageClassName = &best.Name
		}
	}
}
