package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Driver makes volumes: whoever sets a scene plays it.
const Driver = "csi.example.com"

// storage makes what all classes share: storage classes, disks of nodes, and how many volumes nodes can attach.
func (m *maker) storage() {
	if !m.has(Volumes) {
		return
	}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	classes := []*storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: m.name("local")}, Provisioner: "kubernetes.io/no-provisioner"},
		{ObjectMeta: metav1.ObjectMeta{Name: m.name("anywhere")}, Provisioner: Driver},
		{ObjectMeta: metav1.ObjectMeta{Name: m.name("zonal")}, Provisioner: Driver, AllowedTopologies: []corev1.TopologySelectorTerm{{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{
				Key: corev1.LabelTopologyZone, Values: some(m.dice("zonal"), zones()...),
			}},
		}}},
	}
	for _, c := range classes {
		c.TypeMeta = metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}
		c.VolumeBindingMode = &wait
		m.Storage = append(m.Storage, c)
	}
	for i, n := range m.Nodes {
		m.disks(i, n.Name)
	}
}

// disks gives some nodes disks of their own, and bounds how many volumes some can attach.
func (m *maker) disks(i int, node string) {
	d := m.dice("disks", i)
	if d.once(3) {
		for k := range d.between(1, 3) {
			m.Storage = append(m.Storage, m.volume(m.name("disk%d-%d", i, k), m.name("local"), corev1.LabelHostname, node))
		}
	}
	if d.once(3) {
		most := int32(d.between(1, 3))
		m.Storage = append(m.Storage, &storagev1.CSINode{
			TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"},
			ObjectMeta: metav1.ObjectMeta{Name: node},
			Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
				Name: Driver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &most},
			}}},
		})
	}
}

// volume is at the nodes with a label; an empty key is everywhere.
func (m *maker) volume(name, class, key string, values ...string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Capacity: amounts("storage", "1Gi"), PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: name}},
		},
	}
	if class == m.name("local") {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/disk"}}
	}
	if key != "" {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}},
		}}}}
	}
	return v
}

// mount gives a pod of a class its volume, in one class of four.
func (m *maker) mount(p *corev1.Pod, c, i int) {
	d, ok := m.kind(Volumes, "class", c)
	if !ok || !d.once(4) {
		return
	}
	sort, zone := pick(d, "here", "local", "anywhere", "zonal", "alone", "shared", "missing"), pick(d, zones()...)
	name := p.Name
	switch sort {
	case "alone", "shared":
		name = m.name("app%d-%s", c, sort)
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}})
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	if sort == "missing" && d.once(2) || i > 0 && name != p.Name {
		return
	}
	m.claim(p.Namespace, name, sort, zone)
}

func (m *maker) claim(namespace, name, sort, zone string) {
	class := ""
	if sort == "local" || sort == "anywhere" || sort == "zonal" {
		class = m.name("%s", sort)
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage", "1Gi")},
		},
	}
	switch sort {
	case "alone":
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	case "shared":
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	}
	if class == "" && sort != "missing" {
		v := m.volume(fmt.Sprintf("%s-%s", name, sort), "", corev1.LabelTopologyZone, zone)
		v.Spec.AccessModes = claim.Spec.AccessModes
		v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: name}
		claim.Spec.VolumeName = v.Name
		m.Storage = append(m.Storage, v)
	}
	m.Storage = append(m.Storage, claim)
}
