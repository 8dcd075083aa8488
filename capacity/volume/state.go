package volume

import (
	"maps"
	"slices"
)

// State is a Frozen inventory in which pods are put on sites and taken away: it knows which attachments that makes,
// which free volumes are promised to whose claims, and where claims were sent. It is one decision's scratch and not safe
// for concurrent use.
type State struct {
	in    *Frozen
	needs map[*Demand]*need
	uses  map[claimKey]int // pods with a claim that is not ephemeral

	free     map[string][]*persistent   // by class, the smallest first; nil until asked for
	meant    map[claimKey][]*persistent // volumes that name a claim, by name
	stocks   map[string][]*stock        // by class
	attached map[string][]attachment    // by node, what is attached or about to be

	promises map[claimKey][]*promise
	taken    map[*persistent]*promise
	made     map[*Demand][]*promise // what Put promised for a pod
}

// promise is what the scheduler assumes after it has chosen a node: a volume for a claim, or, without one, that the
// claim's volume is made where the site reaches it. It lasts as long as a pod that it was made for.
type promise struct {
	claim  claimKey
	volume *persistent
	site   *Site
	pods   int
}

// NewState begins with no pods. Without an inventory nothing is known of any claim.
func NewState(in *Frozen) *State {
	if in == nil {
		in = &Frozen{}
	}
	return &State{
		in: in, needs: map[*Demand]*need{}, uses: map[claimKey]int{},
		promises: map[claimKey][]*promise{}, taken: map[*persistent]*promise{}, made: map[*Demand][]*promise{},
	}
}

func (s *State) need(d *Demand) *need {
	n := s.needs[d]
	if n == nil {
		n = s.in.need(d)
		s.needs[d] = n
	}
	return n
}

// Occupy counts a pod that is on a site already: its volumes are bound, or somebody else sees to it.
func (s *State) Occupy(d *Demand, at *Site) {
	if d == nil {
		return
	}
	at.add(s, d)
	for _, u := range d.claims {
		if !u.ephemeral {
			s.uses[d.key(u)]++
		}
	}
}

// Put sends a pod to a site, whether or not Judge lets it, and promises what its claims would get there.
func (s *State) Put(d *Demand, at *Site) {
	if d == nil {
		return
	}
	if n := s.need(d); n.refused.Cause == None && len(n.waiting) > 0 {
		found, _ := s.find(n, at)
		for _, p := range found {
			s.promise(d, p)
		}
	}
	s.Occupy(d, at)
}

// Take takes away a pod that was put on a site or occupied it.
func (s *State) Take(d *Demand, at *Site) {
	if d == nil {
		return
	}
	at.remove(s, d)
	for _, u := range d.claims {
		if key := d.key(u); !u.ephemeral {
			if s.uses[key]--; s.uses[key] == 0 {
				delete(s.uses, key)
			}
		}
	}
	for _, p := range s.made[d] {
		s.withdraw(p)
	}
	delete(s.made, d)
}

// promise adds a pod to what was promised before, if it is the same.
func (s *State) promise(d *Demand, p promise) {
	known := s.promises[p.claim]
	i := slices.IndexFunc(known, func(q *promise) bool { return q.volume == p.volume && (p.volume != nil || q.site == p.site) })
	if i < 0 {
		i = len(known)
		s.promises[p.claim] = append(known, &p)
		if p.volume != nil {
			s.taken[p.volume] = &p
		}
	}
	q := s.promises[p.claim][i]
	q.pods++
	s.made[d] = append(s.made[d], q)
}

func (s *State) withdraw(p *promise) {
	if p.pods--; p.pods > 0 {
		return
	}
	delete(s.taken, p.volume)
	left := slices.DeleteFunc(s.promises[p.claim], func(q *promise) bool { return q == p })
	if len(left) == 0 {
		delete(s.promises, p.claim)
		return
	}
	s.promises[p.claim] = left
}

// stocked is what is published about room for a class.
func (s *State) stocked(class string) []*stock {
	if s.stocks == nil {
		s.stocks = map[string][]*stock{}
		for _, r := range s.in.stocks {
			s.stocks[r.class] = append(s.stocks[r.class], r) // in any order: one that serves is enough
		}
	}
	return s.stocks[class]
}

// index sorts the volumes that nobody has yet.
func (s *State) index() {
	if s.free != nil {
		return
	}
	s.free, s.meant = map[string][]*persistent{}, map[claimKey][]*persistent{}
	for _, name := range slices.Sorted(maps.Keys(s.in.volumes)) {
		v := s.in.volumes[name]
		switch {
		case v.deleting:
		case v.ref != nil:
			s.meant[v.ref.key] = append(s.meant[v.ref.key], v)
		case v.available:
			s.free[v.class] = append(s.free[v.class], v)
		}
	}
	for _, volumes := range s.free {
		slices.SortStableFunc(volumes, func(a, b *persistent) int { return a.size.compare(b.size) })
	}
}
