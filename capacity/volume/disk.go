package volume

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// disk is a volume named in the pod itself that one machine cannot mount for several pods at once.
type disk struct {
	kind     diskKind
	id       string // PD name, EBS volume ID, IQN, or RBD image
	pool     string
	monitors []string
	readOnly bool
}

type diskKind uint8

const (
	gcePD diskKind = iota
	awsEBS
	iSCSI
	cephRBD
)

func appendDisks(disks []disk, v *corev1.Volume) []disk {
	if s := v.GCEPersistentDisk; s != nil {
		disks = append(disks, disk{kind: gcePD, id: s.PDName, readOnly: s.ReadOnly})
	}
	if s := v.AWSElasticBlockStore; s != nil {
		disks = append(disks, disk{kind: awsEBS, id: s.VolumeID}) // two pods conflict even where both only read
	}
	if s := v.ISCSI; s != nil {
		disks = append(disks, disk{kind: iSCSI, id: s.IQN, readOnly: s.ReadOnly})
	}
	if s := v.RBD; s != nil {
		disks = append(disks, disk{kind: cephRBD, id: s.RBDImage, pool: s.RBDPool, monitors: s.CephMonitors, readOnly: s.ReadOnly})
	}
	return disks
}

// conflicts says whether two pods on one node may not have these disks. The rules are those of the VolumeRestrictions
// plugin: https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/scheduler/framework/plugins/volumerestrictions.
func (d *disk) conflicts(other *disk) bool {
	if d.kind != other.kind || d.id != other.id || d.pool != other.pool || d.readOnly && other.readOnly {
		return false
	}
	return d.kind != cephRBD || slices.ContainsFunc(d.monitors, func(m string) bool {
		return slices.Contains(other.monitors, m)
	})
}

// conflicting says whether any disk of one pod conflicts with any of another.
func conflicting(a, b []disk) bool {
	for i := range a {
		for j := range b {
			if a[i].conflicts(&b[j]) {
				return true
			}
		}
	}
	return false
}
