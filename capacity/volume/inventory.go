package volume

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Inventory is all that is known about storage in the cluster. It is kept up to date one object at a time by one
// goroutine; Frozen copies may be read by many.
type Inventory struct {
	claims   table[claimKey, *claim]
	volumes  table[string, *persistent]
	classes  table[string, *class]
	tracked  table[string, bool] // CSI drivers: whether they publish how much room is left
	stocks   table[claimKey, *stock]
	nodes    table[string, *csiNode]
	attached table[string, attached] // by VolumeAttachment
}

// Set takes in a PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver, CSIStorageCapacity, CSINode or
// VolumeAttachment, and says whether a decision may depend on what changed. Other kinds play no part.
func (v *Inventory) Set(o metav1.Object) (changed bool) {
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		return v.claims.set(claimKey{o.Namespace, o.Name}, newClaim(o))
	case *corev1.PersistentVolume:
		return v.volumes.set(o.Name, newPersistent(o))
	case *storagev1.StorageClass:
		return v.classes.set(o.Name, newClass(o))
	case *storagev1.CSIDriver:
		return v.tracked.set(o.Name, o.Spec.StorageCapacity != nil && *o.Spec.StorageCapacity)
	case *storagev1.CSIStorageCapacity:
		return v.stocks.set(claimKey{o.Namespace, o.Name}, newStock(o))
	case *storagev1.CSINode:
		return v.nodes.set(o.Name, newCSINode(o))
	case *storagev1.VolumeAttachment:
		a, counts := newAttached(o)
		if !counts {
			return v.attached.forget(o.Name)
		}
		return v.attached.set(o.Name, a)
	}
	return false
}

// Forget drops an object that was deleted, and says whether it was known.
func (v *Inventory) Forget(o metav1.Object) (changed bool) {
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		return v.claims.forget(claimKey{o.Namespace, o.Name})
	case *corev1.PersistentVolume:
		return v.volumes.forget(o.Name)
	case *storagev1.StorageClass:
		return v.classes.forget(o.Name)
	case *storagev1.CSIDriver:
		return v.tracked.forget(o.Name)
	case *storagev1.CSIStorageCapacity:
		return v.stocks.forget(claimKey{o.Namespace, o.Name})
	case *storagev1.CSINode:
		return v.nodes.forget(o.Name)
	case *storagev1.VolumeAttachment:
		return v.attached.forget(o.Name)
	}
	return false
}

// Frozen is an Inventory at one moment. It is never changed.
type Frozen struct {
	claims   map[claimKey]*claim
	volumes  map[string]*persistent
	classes  map[string]*class
	tracked  map[string]bool
	stocks   map[claimKey]*stock
	nodes    map[string]*csiNode
	attached map[string]attached
}

// Freeze shares what is there until the next change of its kind.
func (v *Inventory) Freeze() *Frozen {
	return &Frozen{
		claims: v.claims.freeze(), volumes: v.volumes.freeze(), classes: v.classes.freeze(), tracked: v.tracked.freeze(),
		stocks: v.stocks.freeze(), nodes: v.nodes.freeze(), attached: v.attached.freeze(),
	}
}

// table is a map that is copied before the first change after it was shared.
type table[K comparable, V any] struct {
	m      map[K]V
	shared bool
}

func (t *table[K, V]) set(key K, value V) (changed bool) {
	if old, known := t.m[key]; known && reflect.DeepEqual(old, value) {
		return false
	}
	t.own()
	t.m[key] = value
	return true
}

func (t *table[K, V]) forget(key K) (changed bool) {
	if _, known := t.m[key]; !known {
		return false
	}
	t.own()
	delete(t.m, key)
	return true
}

func (t *table[K, V]) own() {
	switch {
	case t.m == nil:
		t.m = map[K]V{}
	case t.shared:
		t.m = maps.Clone(t.m)
	}
	t.shared = false
}

func (t *table[K, V]) freeze() map[K]V {
	t.shared = true
	return t.m
}
