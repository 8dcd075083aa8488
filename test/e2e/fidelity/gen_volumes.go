package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	disks  = "disk.example.com"
	shares = "share.example.com"
)

// stored makes a cluster in which pods have volumes. No two free volumes are of one size: of several that are as small
// kube-scheduler takes any.
func (g *gen) stored() *cluster {
	g.volumes = pick(g, 40, 80, 100)
	c := g.cluster()
	c.storage = append(c.storage, g.classes()...)
	for _, n := range c.nodes {
		if g.chance(80) {
			c.storage = append(c.storage, g.csiNode(n))
		}
	}
	for _, namespace := range []string{"red", "green", "blue"} {
		for i := range 5 {
			if g.chance(95) {
				g.claim(c, namespace, fmt.Sprintf("claim%d", i), nil)
			}
		}
	}
	for _, p := range c.pods {
		g.ephemeralClaims(c, p)
	}
	for range g.IntN(8) {
		c.storage = append(c.storage, g.volume(pick(g, "static", "static", "wait", "zonal")))
	}
	g.attachments(c)
	return c
}

func (g *gen) classes() []metav1.Object {
	class := func(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: g.meta("", name), Provisioner: provisioner, VolumeBindingMode: &mode}
	}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	zonal := class("zonal", disks, wait)
	for range 1 + g.IntN(2) {
		zonal.AllowedTopologies = append(zonal.AllowedTopologies, g.topologyTerm())
	}
	out := []metav1.Object{
		zonal, class("wait", disks, wait), class("static", "kubernetes.io/no-provisioner", wait), class("now", disks, storagev1.VolumeBindingImmediate),
		class("ebs", "kubernetes.io/aws-ebs", wait), class("vsphere", "kubernetes.io/vsphere-volume", wait), class("tracked", shares, wait),
	}
	if g.chance(3) {
		out = append(out, &storagev1.StorageClass{ObjectMeta: g.meta("", "modeless"), Provisioner: disks})
	}
	if g.chance(80) {
		out = append(out, &storagev1.CSIDriver{ObjectMeta: g.meta("", shares), Spec: storagev1.CSIDriverSpec{StorageCapacity: new(g.chance(80))}})
	}
	for i := range g.IntN(4) {
		out = append(out, g.capacity(i))
	}
	return out
}

func (g *gen) topologyTerm() corev1.TopologySelectorTerm {
	var t corev1.TopologySelectorTerm
	for g.chance(80) && len(t.MatchLabelExpressions) < 2 {
		t.MatchLabelExpressions = append(t.MatchLabelExpressions, corev1.TopologySelectorLabelRequirement{
			Key: pick(g, corev1.LabelTopologyZone, corev1.LabelTopologyZone, "rack"), Values: []string{pick(g, "a", "1", "not valid!"), pick(g, "b", "2")},
		})
	}
	return t
}

func (g *gen) capacity(i int) *storagev1.CSIStorageCapacity {
	c := &storagev1.CSIStorageCapacity{ObjectMeta: g.meta("storage", fmt.Sprintf("capacity%d", i)), StorageClassName: pick(g, "tracked", "tracked", "wait")}
	if g.chance(90) {
		c.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelTopologyZone: pick(g, "a", "b", "c")}}
	}
	if g.chance(20) {
		c.NodeTopology = &metav1.LabelSelector{}
	}
	if g.chance(80) {
		c.Capacity = new(resource.MustParse(pick(g, "1Gi", "2Gi", "9Gi")))
	}
	if g.chance(40) {
		c.MaximumVolumeSize = new(resource.MustParse(pick(g, "1Gi", "2Gi", "9Gi")))
	}
	return c
}

func (g *gen) csiNode(n *corev1.Node) *storagev1.CSINode {
	c := &storagev1.CSINode{ObjectMeta: g.meta("", n.Name)}
	for _, driver := range []string{disks, shares, "ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"} {
		if g.chance(40) {
			continue
		}
		d := storagev1.CSINodeDriver{Name: driver, NodeID: n.Name}
		if g.chance(80) {
			d.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(g.IntN(5)))}
		}
		c.Spec.Drivers = append(c.Spec.Drivers, d)
	}
	if g.chance(60) {
		c.Annotations = map[string]string{corev1.MigratedPluginsAnnotationKey: pick(g, "kubernetes.io/aws-ebs", "",
			"kubernetes.io/gce-pd,kubernetes.io/azure-disk,kubernetes.io/cinder", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd,kubernetes.io/portworx-volume")}
	}
	return c
}

// claim makes a claim in any state, and the volume it has.
func (g *gen) claim(c *cluster, namespace, name string, owner *corev1.Pod) {
	k := &corev1.PersistentVolumeClaim{ObjectMeta: g.meta(namespace, name), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	c.storage = append(c.storage, k)
	if owner != nil {
		k.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: owner.Name, UID: owner.UID, Controller: new(true)}}
	}
	class := pick(g, "static", "static", "wait", "zonal", "ebs", "tracked", "vsphere")
	if g.chance(8) {
		class = pick(g, "now", "absent", "", "modeless")
	}
	k.Spec.StorageClassName = &class
	k.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{pick(g, corev1.ReadWriteOnce, corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod)}
	if g.chance(95) {
		k.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(g, "512Mi", "1Gi", "2Gi"))}
	}
	if g.chance(5) {
		k.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	switch n := g.IntN(100); {
	case n < 45:
		g.bound(c, k)
	case n < 90:
		g.unbound(c, k)
	default:
		g.oddClaim(k)
	}
}

// bound gives a claim its volume; now and then the volume is gone, or one side does not know yet.
func (g *gen) bound(c *cluster, k *corev1.PersistentVolumeClaim) {
	v := g.volume(*k.Spec.StorageClassName)
	v.Status.Phase = corev1.VolumeBound
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: k.Namespace, Name: k.Name, UID: k.UID}
	k.Spec.VolumeName, k.Status.Phase = v.Name, corev1.ClaimBound
	if g.chance(95) {
		k.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
	}
	if g.chance(97) {
		c.storage = append(c.storage, v)
	}
}

func (g *gen) unbound(c *cluster, k *corev1.PersistentVolumeClaim) {
	switch n := g.IntN(100); {
	case n < 15: // a volume waits for this very claim, or for an older one of its name
		v := g.volume(*k.Spec.StorageClassName)
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: k.Namespace, Name: k.Name, UID: pick(g, "", k.UID, "older")}
		c.storage = append(c.storage, v)
	case n < 30:
		k.Annotations["volume.kubernetes.io/selected-node"] = pick(g, c.nodes...).Name
	case n < 45:
		k.Spec.Selector = g.volumeSelector()
	}
	if g.chance(5) {
		k.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	}
	if g.chance(5) {
		k.Spec.VolumeAttributesClassName = new(pick(g, "gold", ""))
	}
}

func (g *gen) volumeSelector() *metav1.LabelSelector {
	if g.chance(5) {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Like"}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick(g, "gold", "silver")}}
}

func (g *gen) oddClaim(k *corev1.PersistentVolumeClaim) {
	if g.chance(50) {
		k.Status.Phase, k.Spec.VolumeName = corev1.ClaimLost, "lost"
	} else {
		k.Annotations[corev1.BetaStorageClassAnnotation] = pick(g, "", "wait", "static")
	}
}

// volume is free, of any source, and may be tied to a host, a zone or something odd.
func (g *gen) volume(class string) *corev1.PersistentVolume {
	g.sizes++
	v := &corev1.PersistentVolume{ObjectMeta: g.meta("", fmt.Sprintf("volume%d", g.sizes))}
	v.Spec.StorageClassName = class
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dMi", pick(g, 500, 1024, 1024, 2048)+g.sizes))}
	v.Spec.AccessModes = pick(g, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		[]corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod})
	v.Status.Phase = corev1.VolumeAvailable
	v.Spec.PersistentVolumeSource = g.volumeSource(v.Name)
	if g.chance(50) {
		v.Labels["tier"] = pick(g, "gold", "silver")
	}
	if g.chance(30) {
		v.Labels[pick(g, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyRegion)] =
			pick(g, "a", "b", "a__b", "c__", " a ", "")
	}
	if g.chance(60) {
		v.Spec.NodeAffinity = g.volumeAffinity()
	}
	if g.chance(5) {
		v.Status.Phase = pick(g, corev1.VolumeReleased, corev1.VolumePending, corev1.VolumeFailed)
	}
	if g.chance(3) {
		v.DeletionTimestamp = &metav1.Time{Time: epoch}
	}
	if g.chance(5) {
		v.Spec.VolumeMode = new(corev1.PersistentVolumeBlock)
	}
	if g.chance(3) {
		v.Spec.VolumeAttributesClassName = new("gold")
	}
	return v
}

func (g *gen) volumeAffinity() *corev1.VolumeNodeAffinity {
	a := &corev1.VolumeNodeAffinity{}
	if g.chance(3) {
		return a
	}
	a.Required = &corev1.NodeSelector{}
	if g.chance(60) {
		key := pick(g, corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyZone)
		values := map[string][]string{corev1.LabelHostname: {"n0", "n1", "n2"}, corev1.LabelTopologyZone: {"a", "b", "c"}}[key]
		a.Required.NodeSelectorTerms = []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{pick(g, values...), pick(g, values...)}},
		}}}
		return a
	}
	for range g.IntN(3) {
		a.Required.NodeSelectorTerms = append(a.Required.NodeSelectorTerms, g.nodeTerm())
	}
	return a
}

func (g *gen) volumeSource(name string) corev1.PersistentVolumeSource {
	switch g.IntN(12) {
	case 0:
		return corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, "vol-", "aws://a/vol-", "bad/") + name}}
	case 1:
		return corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: name}}
	case 2:
		return corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: name, Kind: new(pick(g, corev1.AzureManagedDisk, corev1.AzureDedicatedBlobDisk))}}
	case 3:
		return corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: name}}
	case 4:
		return corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: name}}
	case 5:
		return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/" + name}}
	case 6:
		return corev1.PersistentVolumeSource{PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: name}}
	}
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
		Driver: pick(g, disks, disks, shares), VolumeHandle: pick(g, name, name, name, "shared", ""),
	}}
}

func (g *gen) attachments(c *cluster) {
	for i := range g.IntN(6) {
		a := &storagev1.VolumeAttachment{ObjectMeta: g.meta("", fmt.Sprintf("attachment%d", i))}
		a.Spec.Attacher, a.Spec.NodeName = pick(g, disks, disks, shares, "ebs.csi.aws.com", ""), pick(g, c.nodes...).Name
		if g.chance(95) {
			a.Spec.Source.PersistentVolumeName = new(fmt.Sprintf("volume%d", 1+g.IntN(g.sizes+1)))
		}
		c.storage = append(c.storage, a)
	}
}

// meta has a version of its own in every cluster: what kube-scheduler assumed about an object of another one is void.
func (g *gen) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), ResourceVersion: fmt.Sprintf("%d", g.seed),
		Labels: map[string]string{}, Annotations: map[string]string{},
	}
}
