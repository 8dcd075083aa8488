package volume

import "slices"

// AttachedTo names the volumes that are attached to a node, or about to be, as VolumeAttachments say. Those of pods that stay
// are left out: they stay attached for as long as their pods are there.
func (v *Inventory) AttachedTo(node string, stay []*Demand) (volumes []string) {
	used := v.usedBy(stay)
	for _, a := range v.attached.m {
		if a.node == node && !used[a.volume] {
			volumes = append(volumes, a.volume)
		}
	}
	slices.Sort(volumes)
	return volumes
}

// usedBy are the PersistentVolumes behind the claims of pods.
func (v *Inventory) usedBy(pods []*Demand) map[string]bool {
	used := map[string]bool{}
	for _, d := range pods {
		for _, u := range d.claims {
			if c := v.claims.m[d.key(u)]; c != nil && c.volume != "" {
				used[c.volume] = true
			}
		}
	}
	return used
}
