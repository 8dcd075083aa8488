package topology

import "math"

// Kind is all pods that rules do not tell apart, with what keeps them off a site and what counts them.
type Kind struct {
	checks
	subject Subject
	counted []counter
	put     []spot // what was put and not taken since, in no more entries than there were puts
}

// checks are rules to be judged.
type checks struct {
	spreads []spreadCheck
	company []companyCheck
	avoided []avoidedCheck // pods that the pod avoids, then pods that avoid it
}

type spreadCheck struct {
	*spreadGroup
	maxSkew, minDomains int32
	itself              int32 // 1 where the pod matches the constraint's own selector
}

type companyCheck struct {
	*companyGroup
	itself bool // the pod matches its own terms
}

type avoidedCheck struct {
	*termGroup
	cause Cause
}

// Free says whether no rule keeps the kind off any site.
func (k *Kind) Free() bool { return k.checks.none() }

func (c *checks) none() bool { return len(c.spreads)+len(c.company)+len(c.avoided) == 0 }

// Counted says whether any rule counts pods of the kind.
func (k *Kind) Counted() bool { return len(k.counted) > 0 }

// Judge says whether one more pod of the kind may stand on a site.
func (k *Kind) Judge(s *Site) Finding { return k.judge(s) }

// judge follows the order of kube-scheduler's plugins, spread before affinity, and within each that of its Filter.
func (c *checks) judge(s *Site) Finding {
	for i := range c.spreads {
		if cause := c.spreads[i].judge(s); cause != None {
			return Finding{cause, c.spreads[i].ground.key.name}
		}
	}
	for i := range c.company {
		if key, ok := c.company[i].judge(s); !ok {
			return Finding{Affinity, key}
		}
	}
	for i := range c.avoided {
		if a := &c.avoided[i]; a.present(s) {
			return Finding{a.cause, a.key.name}
		}
	}
	return Finding{}
}

func (c *spreadCheck) judge(s *Site) Cause {
	d := s.domains[c.ground.key.index]
	switch {
	case d == nowhere:
		return SpreadKey
	case int(c.counts.at(d))+int(c.itself)-int(c.least(c.minDomains)) > int(c.maxSkew):
		return Spread
	}
	return None
}

// judge lets the first pod of a group in anywhere its keys exist: one that matches its own terms while no other pod does.
func (c *companyCheck) judge(s *Site) (key string, ok bool) {
	missing := ""
	for i, k := range c.keys {
		d := s.domains[k.index]
		switch {
		case d == nowhere:
			return k.name, false
		case c.counts[i].at(d) <= 0 && missing == "":
			missing = k.name
		}
	}
	return missing, missing == "" || c.total == 0 && c.itself
}

// Most is how many pods of the kind may surely be put on a site, one after the other, where one may.
func (k *Kind) Most(s *Site) int { return k.most(s, k) }

func (c *checks) most(s *Site, k *Kind) int {
	most := math.MaxInt32
	for i := range c.spreads {
		if g := &c.spreads[i]; g.itself > 0 && s.in(g.ground.scope) && k.countedIn(g.spreadGroup) {
			room := int(g.maxSkew) + int(g.least(g.minDomains)) - int(g.counts.at(s.domains[g.ground.key.index]))
			most = min(most, max(room, 1))
		}
	}
	for i := range c.avoided {
		if a := c.avoided[i].termGroup; s.domains[a.key.index] != nowhere && k.countedIn(a) {
			return 1
		}
	}
	return most
}

func (k *Kind) countedIn(g counter) bool {
	for _, known := range k.counted {
		if counterGroup(known) == counterGroup(g) {
			return true
		}
	}
	return false
}

// counterGroup looks through an avoidance to what it counts.
func counterGroup(g counter) counter {
	if a, ok := g.(*avoidance); ok {
		return &a.termGroup
	}
	return g
}

// Put counts n more pods of the kind on a site; fewer where n is negative. On a field each of them has its own machine.
func (k *Kind) Put(s *Site, n int) {
	if s.field {
		s.populate(int32(n))
	}
	k.count(s, int32(n), s.field)
}

// Furnish counts n more pods of the kind on every machine of a field; on any other site it is Put.
func (k *Kind) Furnish(s *Site, n int) { k.count(s, int32(n), false) }

func (k *Kind) count(s *Site, n int32, scattered bool) {
	for _, g := range k.counted {
		g.add(s, n, scattered)
	}
	if last := len(k.put) - 1; last >= 0 && k.put[last].site == s && k.put[last].scattered == scattered {
		if k.put[last].n += n; k.put[last].n == 0 {
			k.put = k.put[:last]
		}
		return
	}
	k.put = append(k.put, spot{s, n, scattered})
}
