package volume

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const driver = "disk.example.com"

// pod has the given volumes.
func pod(name string, volumes ...corev1.Volume) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name)}}
	p.Spec.Volumes = volumes
	return p
}

func using(claims ...string) []corev1.Volume {
	var volumes []corev1.Volume
	for _, c := range claims {
		volumes = append(volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c},
		}})
	}
	return volumes
}

func ephemeral(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}
}

func ebs(id string, readOnly bool) corev1.Volume {
	return corev1.Volume{Name: id, VolumeSource: corev1.VolumeSource{
		AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: id, ReadOnly: readOnly},
	}}
}

func pd(name string, readOnly bool) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name, ReadOnly: readOnly},
	}}
}

func iscsi(iqn string, readOnly bool) corev1.Volume {
	return corev1.Volume{Name: "disk", VolumeSource: corev1.VolumeSource{
		ISCSI: &corev1.ISCSIVolumeSource{IQN: iqn, ReadOnly: readOnly},
	}}
}

func rbd(image string, readOnly bool, monitors ...string) corev1.Volume {
	return corev1.Volume{Name: "disk", VolumeSource: corev1.VolumeSource{
		RBD: &corev1.RBDVolumeSource{CephMonitors: monitors, RBDPool: "rbd", RBDImage: image, ReadOnly: readOnly},
	}}
}

// pvc wants 10Gi of class "fast" and has nothing yet.
func pvc(name string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: new("fast"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: storage("10Gi")},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

type claimChange = func(*corev1.PersistentVolumeClaim)

func boundTo(volume string) claimChange {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName, c.Annotations[bindCompleted] = volume, "yes"
		c.Status.Phase = corev1.ClaimBound
	}
}

func ofClass(name string) claimChange {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func wants(size string) claimChange {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.Resources.Requests = storage(size) }
}

func sentTo(node string) claimChange {
	return func(c *corev1.PersistentVolumeClaim) { c.Annotations[selectedNode] = node }
}

func oncePod(c *corev1.PersistentVolumeClaim) {
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
}

func ownedBy(p string) claimChange {
	return func(c *corev1.PersistentVolumeClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: p, UID: types.UID("uid-" + p), Controller: new(true)}}
	}
}

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

// pv is a free CSI volume of 10Gi and class "fast".
func pv(name string, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "fast", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity: storage("10Gi"), PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle-" + name},
			},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	for _, f := range change {
		f(v)
	}
	return v
}

type volumeChange = func(*corev1.PersistentVolume)

func holds(size string) volumeChange {
	return func(v *corev1.PersistentVolume) { v.Spec.Capacity = storage(size) }
}

func labelled(key, value string) volumeChange {
	return func(v *corev1.PersistentVolume) { v.Labels[key] = value }
}

// near ties a volume to nodes with one of the values of a label.
func near(key string, values ...string) volumeChange {
	return func(v *corev1.PersistentVolume) {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}},
		}}}
	}
}

func promised(claim, uid string) volumeChange {
	return func(v *corev1.PersistentVolume) {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: claim, UID: types.UID(uid)}
		v.Status.Phase = corev1.VolumeAvailable
	}
}

// storageClass waits for the first pod and provisions with the driver.
func storageClass(name string, change ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: driver,
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func static(c *storagev1.StorageClass) { c.Provisioner = noProvisioner }

func immediate(c *storagev1.StorageClass) {
	c.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
}

func onlyIn(key string, values ...string) func(*storagev1.StorageClass) {
	return func(c *storagev1.StorageClass) {
		c.AllowedTopologies = append(c.AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: key, Values: values}},
		})
	}
}

func limits(node string, most int32) *storagev1.CSINode {
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: driver, Allocatable: &storagev1.VolumeNodeResources{Count: &most}},
		{Name: "free.example.com"},
	}}}
}

// attachedTo is what the attach-detach controller writes for a volume of the driver.
func attachedTo(node, volume string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-" + volume},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
}

func tracking(on bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &on}}
}

func roomIn(zone, size string) *storagev1.CSIStorageCapacity {
	return &storagev1.CSIStorageCapacity{
		ObjectMeta: metav1.ObjectMeta{Namespace: "storage", Name: "fast-" + zone}, StorageClassName: "fast",
		NodeTopology: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: zone}},
		Capacity:     new(resource.MustParse(size)),
	}
}

// node is in zone a.
func node(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, corev1.LabelTopologyZone: "a",
	}}}
}

// with makes a State from objects.
func with(objects ...metav1.Object) *State {
	var v Inventory
	for _, o := range objects {
		v.Set(o)
	}
	return NewState(v.Freeze())
}
