package volume

import "slices"

// find is what VolumeBinding does for one node: bound volumes must be reached from it; every claim that waits gets a
// volume that is there or, failing that, one to be made. It returns what the claims would get.
func (s *State) find(n *need, at *Site) ([]promise, Refusal) {
	unreached, missing := n.reached(at)
	if unreached.Cause == Unreadable || unreached.Cause != None && !n.fragile {
		return nil, unreached
	}
	found, unbound := s.bind(n.waiting, at)
	switch {
	case unbound.Cause == Unreadable:
		return nil, unbound // the scheduler fails, whatever else it found
	case unreached.Cause != None:
		return nil, unreached
	case unbound.Cause != None:
		return nil, unbound
	case missing:
		return nil, refuse(VolumeMissing, "")
	}
	return found, Refusal{}
}

// reached asks about bound volumes in their order, up to one that does not exist.
func (n *need) reached(at *Site) (r Refusal, missing bool) {
	for _, v := range n.bound {
		if v == nil {
			return Refusal{}, true
		}
		if r := v.reached(at); r.Cause != None {
			return r, false
		}
	}
	return Refusal{}, false
}

// reached says whether a node reaches a volume. An in-tree volume is asked as its CSI driver sees it where the node's
// kubelet has handed it over.
func (v *persistent) reached(at *Site) Refusal {
	reach := v.affinity
	if t := v.inTree; t != nil && at.csi.handedOver(t.plugin) {
		if t.err != nil {
			return refuse(Unreadable, "PersistentVolume "+v.name)
		}
		reach = t.affinity
	}
	if !reach.admits(at.node.Labels) {
		return refuse(NodeAffinity, v.name)
	}
	return Refusal{}
}

// bind finds a volume for each claim. First come those that were sent to a node before, then, by size, the others.
func (s *State) bind(claims []*claim, at *Site) ([]promise, Refusal) {
	if len(claims) == 0 {
		return nil, Refusal{}
	}
	var found []promise
	var toMake, toMatch []*claim
	for _, c := range claims {
		switch sent, here := s.sent(c, at); {
		case sent && !here:
			return nil, refuse(NothingToBind, c.key.name)
		case sent:
			toMake = append(toMake, c)
		default:
			toMatch = append(toMatch, c)
		}
	}
	for _, c := range toMatch {
		if c.unreadable {
			return nil, refuse(Unreadable, "the selector of claim "+c.key.name)
		}
		v := s.match(c, found, at)
		if v == nil {
			toMake = append(toMake, c)
			continue
		}
		found = append(found, promise{claim: c.key, volume: v, site: at})
	}
	for _, c := range toMake {
		if r := s.makes(c, at); r.Cause != None {
			return nil, r
		}
		found = append(found, promise{claim: c.key, site: at})
	}
	return found, Refusal{}
}

// sent says whether a claim's volume is to be made for one certain node, and whether it is this one.
func (s *State) sent(c *claim, at *Site) (sent, here bool) {
	for _, p := range s.promises[c.key] {
		if p.volume == nil {
			return true, p.site == at
		}
	}
	return c.selected, c.oneNode == at.node.Name
}

// match finds the volume that the scheduler would bind a claim to: one that names the claim if it can be reached, and
// otherwise the smallest free one. Of several that are as small it takes the first by name; the scheduler takes any.
func (s *State) match(c *claim, found []promise, at *Site) *persistent {
	s.index()
	chosen := func(v *persistent) bool {
		return slices.ContainsFunc(found, func(p promise) bool { return p.volume == v })
	}
	for _, p := range s.promises[c.key] {
		if p.volume != nil && !chosen(p.volume) && p.volume.suits(c) {
			return p.volume.orNone(at)
		}
	}
	for _, v := range s.meant[c.key] {
		if v.meant(c) && v.class == c.class && !chosen(v) && v.suits(c) {
			return v.orNone(at)
		}
	}
	free := s.free[c.class]
	from, _ := slices.BinarySearchFunc(free, c.size, func(v *persistent, wanted size) int { return v.size.compare(wanted) })
	for _, v := range free[from:] {
		if s.taken[v] == nil && v.suits(c) && v.free(c) && v.affinity.admits(at.node.Labels) && !chosen(v) {
			return v
		}
	}
	return nil
}

// orNone: a claim that has a volume of its own gets no other.
func (v *persistent) orNone(at *Site) *persistent {
	if v.affinity.admits(at.node.Labels) {
		return v
	}
	return nil
}

// makes says what stands in the way of making a volume for a claim that the node would reach. As the scheduler does, it
// takes nothing off the room that a driver publishes: the driver will, and says so.
func (s *State) makes(c *claim, at *Site) Refusal {
	k := s.in.classes[c.class]
	if k == nil || !k.provisions() || !k.allows(at.node.Labels) {
		return refuse(NothingToBind, c.key.name)
	}
	if !c.sized || !s.in.tracked[k.provisioner] {
		return Refusal{}
	}
	bytes := c.size.bytes()
	if slices.ContainsFunc(s.stocked(c.class), func(r *stock) bool { return r.serves(bytes, at.node.Labels) }) {
		return Refusal{}
	}
	return refuse(NotEnoughStorage, c.class)
}
