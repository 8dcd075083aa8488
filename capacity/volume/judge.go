package volume

import "slices"

// Judge says what stands in the way of one more pod on a site, as the filters of VolumeRestrictions, NodeVolumeLimits,
// VolumeBinding and VolumeZone say one after the other.
func (s *State) Judge(d *Demand, at *Site) Refusal {
	if d == nil {
		return Refusal{}
	}
	n := s.need(d)
	if n.refused.Cause != None {
		return n.refused
	}
	if r := s.restrict(d, n, at); r.Cause != None {
		return r
	}
	if r := s.limit(d, n, at); r.Cause != None {
		return r
	}
	if _, r := s.find(n, at); r.Cause != None {
		return r
	}
	return n.zoned(at)
}

func (s *State) restrict(d *Demand, n *need, at *Site) Refusal {
	if len(d.disks) > 0 {
		for _, other := range at.pods {
			if conflicting(d.disks, other.disks) {
				return refuse(DiskConflict, "")
			}
		}
	}
	for _, key := range n.once {
		if s.uses[key] > 0 {
			return refuse(InUse, key.name)
		}
	}
	return Refusal{}
}

// limit counts volumes as NodeVolumeLimits does: those of the pods there, each once; those still attached that no pod
// there uses; and those of this pod that no pod there uses.
func (s *State) limit(d *Demand, n *need, at *Site) Refusal {
	switch {
	case at.csi == nil:
		return Refusal{}
	case d.untranslatable != "":
		return refuse(Unreadable, "volume "+d.untranslatable)
	case len(n.attach) == 0 || len(at.csi.limits) == 0:
		return Refusal{}
	case at.broken > 0:
		return refuse(Unreadable, "a volume of a pod on the node")
	}
	for i, a := range n.attach {
		most, limited := at.csi.limits[a.driver]
		if !limited || slices.ContainsFunc(n.attach[:i], func(b attachment) bool { return b.driver == a.driver }) {
			continue
		}
		// A node that has too many already takes a pod that adds none.
		if fresh := at.fresh(a.driver, n.attach); fresh > 0 && int64(at.drivers[a.driver]+s.left(a.driver, at)+fresh) > most {
			return refuse(TooManyVolumes, a.driver)
		}
	}
	return Refusal{}
}

// left counts a driver's volumes that are attached to the node and that no pod there has any more.
func (s *State) left(driver string, at *Site) int {
	seen := map[attachment]bool{}
	for _, a := range s.attachedTo(at.node.Name) {
		if a.driver == driver && at.volumes[a] == 0 {
			seen[a] = true
		}
	}
	return len(seen)
}

// fresh counts a driver's volumes among these that no pod on the site has yet.
func (at *Site) fresh(driver string, list []attachment) int {
	count := 0
	for i, a := range list {
		if a.driver == driver && at.volumes[a] == 0 && !slices.Contains(list[:i], a) {
			count++
		}
	}
	return count
}

// zoned compares the zone labels of bound volumes with the node's. A node without any such label is in no zone, and
// takes all.
func (n *need) zoned(at *Site) Refusal {
	if len(n.zones) == 0 || !slices.ContainsFunc(zoneLabels, func(key string) bool { _, has := at.node.Labels[key]; return has }) {
		return Refusal{}
	}
	for i := range n.zones {
		z := &n.zones[i]
		value, has := at.node.Labels[z.key]
		if !has {
			value, has = at.node.Labels[newerLabel(z.key)]
		}
		if !has || !slices.Contains(z.values, value) {
			return refuse(Zone, "")
		}
	}
	return Refusal{}
}
