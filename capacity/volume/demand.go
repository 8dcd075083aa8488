package volume

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Demand is what one pod's volumes ask of a node. It is never changed after it was made. Most pods have none: a nil
// Demand asks for nothing.
type Demand struct {
	namespace, pod string
	uid            types.UID
	claims         []claimUse
	disks          []disk
	inline         []attachment
	// untranslatable names an inline in-tree volume that cannot be read as a volume of its CSI driver.
	untranslatable string
}

// claimUse is one volume of a pod that a PersistentVolumeClaim stands behind.
type claimUse struct {
	name string
	// ephemeral claims are made for one pod and named after it and its volume.
	ephemeral bool
}

// NewDemand reads a pod's volumes. It returns nil where none of them matters to the choice of a node.
func NewDemand(pod *corev1.Pod) *Demand {
	var d *Demand
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !matters(v) {
			continue
		}
		if d == nil {
			d = &Demand{namespace: pod.Namespace, pod: pod.Name, uid: pod.UID}
		}
		d.add(v)
	}
	return d
}

func matters(v *corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.GCEPersistentDisk != nil ||
		v.AWSElasticBlockStore != nil || v.ISCSI != nil || v.RBD != nil || v.AzureDisk != nil || v.Cinder != nil ||
		v.PortworxVolume != nil
}

func (d *Demand) add(v *corev1.Volume) {
	d.disks = appendDisks(d.disks, v)
	switch {
	case v.PersistentVolumeClaim != nil:
		d.claims = append(d.claims, claimUse{name: v.PersistentVolumeClaim.ClaimName})
	case v.Ephemeral != nil:
		d.claims = append(d.claims, claimUse{name: d.pod + "-" + v.Name, ephemeral: true})
	default:
		a, found, err := translateInline(v, d.namespace)
		switch {
		case err != nil:
			d.untranslatable = v.Name
		case found:
			d.inline = append(d.inline, a)
		}
	}
}

func (d *Demand) key(u claimUse) claimKey { return claimKey{d.namespace, u.name} }

// Claims are the names of the PersistentVolumeClaims behind the pod's volumes, in their order, in the pod's namespace.
func (d *Demand) Claims() []string {
	if d == nil {
		return nil
	}
	names := make([]string, len(d.claims))
	for i, u := range d.claims {
		names[i] = u.name
	}
	return names
}
