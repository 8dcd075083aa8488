package volume

import "slices"

// AttachedTo names the volumes that are attached to a node, or about to be, as VolumeAttachments say.
func (v *Inventory) AttachedTo(node string) (volumes []string) {
	for _, a := range v.attached.m {
		if a.node == node {
			volumes = append(volumes, a.volume)
		}
	}
	slices.Sort(volumes)
	return volumes
}
