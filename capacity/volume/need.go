package volume

import (
	"slices"
	"strconv"
)

// need is a Demand read against what is known of its claims: what does not depend on the node.
type need struct {
	// refused is for every node, as the plugins' PreFilter refuses.
	refused Refusal
	once    []claimKey    // claims for one pod at a time
	bound   []*persistent // nil for a volume that does not exist
	waiting []*claim      // to be bound with the pod, by size
	fragile bool          // the selector of one of them cannot be read
	zones   []zone
	attach  []attachment
}

func (f *Frozen) need(d *Demand) *need {
	n := &need{attach: slices.Clone(d.inline)}
	if n.refused = f.refuseEverywhere(d); n.refused.Cause != None {
		return n
	}
	for _, u := range d.claims {
		c := f.claims[d.key(u)]
		if !u.ephemeral {
			if c.modes&readWriteOncePod != 0 {
				n.once = append(n.once, c.key)
			}
			if v := f.volumes[c.volume]; v != nil {
				n.zones = append(n.zones, v.zones...)
			}
		}
		if c.bound {
			n.bound = append(n.bound, f.volumes[c.volume])
		} else {
			n.waiting, n.fragile = append(n.waiting, c), n.fragile || c.unreadable
		}
		if a, counted := f.attachment(c); counted {
			n.attach = append(n.attach, a)
		}
	}
	// As the scheduler does, so that small claims do not take large volumes.
	slices.SortStableFunc(n.waiting, func(a, b *claim) int { return a.size.compare(b.size) })
	return n
}

// refuseEverywhere is what the PreFilter of VolumeRestrictions, VolumeBinding and VolumeZone say, in this order.
func (f *Frozen) refuseEverywhere(d *Demand) Refusal {
	for _, u := range d.claims {
		if !u.ephemeral && f.claims[d.key(u)] == nil {
			return refuse(ClaimMissing, u.name)
		}
	}
	for _, u := range d.claims {
		if r := f.refuseClaim(d, u); r.Cause != None {
			return r
		}
	}
	if r := f.refuseUnbound(d); r.Cause != None {
		return r
	}
	for _, u := range d.claims {
		if c := f.claims[d.key(u)]; !u.ephemeral && c.volume != "" && f.volumes[c.volume] == nil {
			return refuse(VolumeMissing, c.volume)
		}
	}
	return Refusal{}
}

func (f *Frozen) refuseClaim(d *Demand, u claimUse) Refusal {
	c := f.claims[d.key(u)]
	switch {
	case c == nil:
		return refuse(ClaimUnmade, u.name)
	case c.lost:
		return refuse(ClaimLost, u.name)
	case c.deleting:
		return refuse(ClaimDeleting, u.name)
	case u.ephemeral && c.owner != d.uid:
		return refuse(ClaimForeign, u.name)
	}
	return Refusal{}
}

// refuseUnbound finds claims that the volume controller has yet to bind: those whose class binds at once, or is missing,
// and those that name a volume and do not have it yet.
func (f *Frozen) refuseUnbound(d *Demand) Refusal {
	unbound := ""
	for _, u := range d.claims {
		c := f.claims[d.key(u)]
		if c.bound {
			continue
		}
		k := f.classes[c.class]
		if c.class != "" && k != nil && k.unset {
			return refuse(Unreadable, "StorageClass "+strconv.Quote(c.class)+" has no volumeBindingMode")
		}
		if unbound == "" && (c.class == "" || k == nil || !k.waits || c.volume != "") {
			unbound = u.name
		}
	}
	if unbound != "" {
		return refuse(ClaimUnbound, unbound)
	}
	return Refusal{}
}

// attachment is what a node will attach for a claim; none where the scheduler does not count it.
func (f *Frozen) attachment(c *claim) (attachment, bool) {
	v := f.volumes[c.volume]
	if c.volume == "" || v == nil {
		return f.attachmentToBe(c)
	}
	a := v.csi
	if v.inTree != nil && v.inTree.err == nil {
		a = v.inTree.attached
	}
	return a, a.driver != "" && a.handle != ""
}

// attachmentToBe counts a volume that was not made yet as one of its class's driver. No handle begins like this one.
func (f *Frozen) attachmentToBe(c *claim) (attachment, bool) {
	k := f.classes[c.class]
	if c.class == "" || k == nil {
		return attachment{}, false
	}
	a := attachment{driver: driverOf(k.provisioner), handle: "\x00" + c.key.namespace + "/" + c.key.name}
	return a, a.driver != ""
}
