package volume

import (
	"slices"

	storagev1 "k8s.io/api/storage/v1"
)

// csiNode is what is kept of a CSINode. It is never changed after it was made.
type csiNode struct {
	limits   map[string]int64 // most volumes by driver; a driver that is missing has no limit
	migrated []string         // in-tree plugins that the kubelet has handed over to CSI drivers
}

func newCSINode(n *storagev1.CSINode) *csiNode {
	c := &csiNode{migrated: migratedOn(n.Annotations)}
	for i := range n.Spec.Drivers {
		d := &n.Spec.Drivers[i]
		if d.Allocatable == nil || d.Allocatable.Count == nil {
			continue
		}
		if c.limits == nil {
			c.limits = map[string]int64{}
		}
		c.limits[d.Name] = int64(*d.Allocatable.Count)
	}
	return c
}

// handedOver says whether the kubelet of this node, if any is known, left an in-tree plugin to its CSI driver.
func (c *csiNode) handedOver(plugin string) bool {
	return c != nil && slices.Contains(c.migrated, plugin)
}

// attached is what is kept of a VolumeAttachment: a volume that is, or is about to be, attached to a node, whether or
// not a pod there still uses it.
type attached struct {
	node, driver, volume string
}

// newAttached returns false for an attachment that the scheduler does not count: one without a driver, or of a volume
// named in a pod.
func newAttached(a *storagev1.VolumeAttachment) (attached, bool) {
	if a.Spec.Attacher == "" || a.Spec.Source.PersistentVolumeName == nil {
		return attached{}, false
	}
	return attached{node: a.Spec.NodeName, driver: a.Spec.Attacher, volume: *a.Spec.Source.PersistentVolumeName}, true
}
