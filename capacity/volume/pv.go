package volume

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// persistent is what is kept of a PersistentVolume. It is never changed after it was made.
type persistent struct {
	name  string
	class string
	// ref is the claim the volume is bound or promised to; nil when it is free.
	ref *reference

	available, deleting bool

	modes      accessModes
	size       size
	block      bool
	attributes string
	labels     labels.Set // only of a volume that some claim may still choose
	affinity   *affinity
	zones      []zone
	csi        attachment
	inTree     *translation // of an in-tree volume that a CSI driver has taken over
}

// reference names a claim; without a UID, whatever claim has the name.
type reference struct {
	key claimKey
	uid types.UID
}

func newPersistent(v *corev1.PersistentVolume) *persistent {
	p := &persistent{
		name: v.Name, class: classOf(v.Annotations, &v.Spec.StorageClassName),
		available: v.Status.Phase == corev1.VolumeAvailable, deleting: v.DeletionTimestamp != nil,
		modes: modesOf(v.Spec.AccessModes), size: sizeOf(v.Spec.Capacity[corev1.ResourceStorage]), block: isBlock(v.Spec.VolumeMode),
		attributes: deref(v.Spec.VolumeAttributesClassName), affinity: newAffinity(v.Spec.NodeAffinity), zones: zonesOf(v.Labels),
	}
	if r := v.Spec.ClaimRef; r != nil {
		p.ref = &reference{key: claimKey{r.Namespace, r.Name}, uid: r.UID}
	} else {
		p.labels = v.Labels
	}
	if s := v.Spec.CSI; s != nil {
		p.csi = attachment{driver: s.Driver, handle: s.VolumeHandle}
	} else {
		p.inTree = translatePV(v)
	}
	return p
}

// meant says whether the volume is bound or promised to this very claim.
func (p *persistent) meant(c *claim) bool {
	return p.ref != nil && p.ref.key == c.key && (p.ref.uid == "" || p.ref.uid == c.uid)
}

// suits compares all that does not depend on the node: what every volume must have, promised to the claim or not.
func (p *persistent) suits(c *claim) bool {
	return p.size.compare(c.size) >= 0 && p.block == c.block && p.attributes == c.attributes && !p.deleting
}

// free says whether the claim may choose the volume among those that nobody was promised.
func (p *persistent) free(c *claim) bool {
	return p.ref == nil && p.available && p.class == c.class && p.modes.covers(c.modes) &&
		(c.selector == nil || c.selector.Matches(p.labels))
}

// zone is where a volume's label says it is: one of values.
type zone struct {
	key    string
	values []string
}

// zoneLabels are those that the VolumeZone plugin compares with the node's.
var zoneLabels = []string{
	corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
}

// newerLabel is what replaced a zone label on nodes.
func newerLabel(key string) string {
	switch key {
	case corev1.LabelFailureDomainBetaZone:
		return corev1.LabelTopologyZone
	case corev1.LabelFailureDomainBetaRegion:
		return corev1.LabelTopologyRegion
	}
	return key
}

// zonesOf reads a volume's zone labels. A label may list several, with __ between them; one that lists an empty one is
// ignored, as the scheduler ignores it.
func zonesOf(labels map[string]string) []zone {
	var zones []zone
	for _, key := range zoneLabels {
		value, found := labels[key]
		if !found {
			continue
		}
		values := strings.Split(value, "__")
		for i := range values {
			values[i] = strings.TrimSpace(values[i])
		}
		if !hasEmpty(values) {
			zones = append(zones, zone{key: key, values: values})
		}
	}
	return zones
}

func hasEmpty(values []string) bool {
	for _, v := range values {
		if v == "" {
			return true
		}
	}
	return false
}
