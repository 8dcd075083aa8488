package kube

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/capacity"
)

// source is a kind of object whose watch goes straight into Live.
type source struct {
	resource  string
	store     toolscache.TransformingStore
	synced    toolscache.InformerSynced
	reflector *toolscache.Reflector
}

// newSource lists and watches one resource. What goes wrong is told to the troubles, by the resource's name.
func newSource(c toolscache.Getter, resource string, o client.Object, store toolscache.TransformingStore, synced func() bool, t *troubles) source {
	lw := toolscache.NewListWatchFromClient(c, resource, metav1.NamespaceAll, fields.Everything())
	options := toolscache.ReflectorOptions{Name: resource}
	return source{
		resource: resource, store: store, synced: synced,
		reflector: toolscache.NewReflectorWithOptions(t.watched(resource, lw), o, store, options),
	}
}

// sources are pods, and what the rules about volumes, namespaces and evictions are read from.
func sources(cs kubernetes.Interface, live *capacity.Live, pods *podStore, t *troubles) []source {
	core, storage, policy := cs.CoreV1().RESTClient(), cs.StorageV1().RESTClient(), cs.PolicyV1().RESTClient()
	all := []source{newSource(core, "pods", &corev1.Pod{}, pods, pods.HasSynced, t)}
	add := func(c toolscache.Getter, resource string, o client.Object, s *stream) {
		all = append(all, newSource(c, resource, o, s, s.HasSynced, t))
	}
	add(core, "persistentvolumeclaims", &corev1.PersistentVolumeClaim{}, storageStream(live, &corev1.PersistentVolumeClaim{}))
	add(core, "persistentvolumes", &corev1.PersistentVolume{}, storageStream(live, &corev1.PersistentVolume{}))
	add(storage, "storageclasses", &storagev1.StorageClass{}, storageStream(live, &storagev1.StorageClass{}))
	add(storage, "csidrivers", &storagev1.CSIDriver{}, storageStream(live, &storagev1.CSIDriver{}))
	add(storage, "csistoragecapacities", &storagev1.CSIStorageCapacity{}, storageStream(live, &storagev1.CSIStorageCapacity{}))
	add(storage, "csinodes", &storagev1.CSINode{}, storageStream(live, &storagev1.CSINode{}))
	add(storage, "volumeattachments", &storagev1.VolumeAttachment{}, storageStream(live, &storagev1.VolumeAttachment{}))
	add(core, "namespaces", &corev1.Namespace{}, newStream(
		func(o metav1.Object) { live.SetNamespace(o.(*corev1.Namespace)) },
		func(key types.NamespacedName) { live.ForgetNamespace(key.Name) }))
	add(policy, "poddisruptionbudgets", &policyv1.PodDisruptionBudget{}, newStream(
		func(o metav1.Object) { live.SetDisruptionBudget(o.(*policyv1.PodDisruptionBudget)) },
		func(key types.NamespacedName) { live.ForgetDisruptionBudget(key.Namespace, key.Name) }))
	return all
}

// storageStream forgets objects of one kind by their names.
func storageStream[T any, P interface {
	*T
	metav1.Object
}](live *capacity.Live, _ P) *stream {
	return newStream(live.SetStorage, func(key types.NamespacedName) {
		gone := P(new(T))
		gone.SetNamespace(key.Namespace)
		gone.SetName(key.Name)
		live.ForgetStorage(gone)
	})
}
