package topology

// Wish is a soft rule of a pod, for who wants to try it as a hard one first.
type Wish struct {
	what wishKind
	at   int
	// Key is the node label whose values are the domains.
	Key string
	// Weight is the weight of a preferred term, 1 to 100; 0 for a spread constraint, which has none.
	Weight int32
}

type wishKind int8

const (
	wishedSpread wishKind = iota
	wishedAffinity
	wishedAntiAffinity
)

// Wishes are the soft rules of a spec: spread constraints that say ScheduleAnyway, preferred pod affinity and
// anti-affinity, each in the order of the spec.
func (r *Rules) Wishes() []Wish {
	if r == nil {
		return nil
	}
	var out []Wish
	for i := range r.softSpread {
		out = append(out, Wish{what: wishedSpread, at: i, Key: r.softSpread[i].key})
	}
	for i := range r.softAffinity {
		out = append(out, Wish{what: wishedAffinity, at: i, Key: r.softAffinity[i].key, Weight: r.softAffinity[i].weight})
	}
	for i := range r.softAnti {
		out = append(out, Wish{what: wishedAntiAffinity, at: i, Key: r.softAnti[i].key, Weight: r.softAnti[i].weight})
	}
	return out
}

// Checks are wishes of a kind to be judged as if they were rules.
type Checks struct {
	checks
	kind *Kind
}

// Insist makes rules of wishes of the kind's own spec. Pods are counted for them from now on.
func (c *Cluster) Insist(k *Kind, wishes []Wish) *Checks {
	out := &Checks{kind: k}
	r, p := k.subject.Rules, c.census.of(populationKey{k.subject.Namespace, k.subject.Labels, k.subject.Terminating})
	for _, w := range wishes {
		switch w.what {
		case wishedSpread:
			rule := &r.softSpread[w.at]
			out.spreads = append(out.spreads, c.spreadCheck(k, rule, []string{rule.key}, p))
		case wishedAffinity:
			out.company = append(out.company, c.companyCheck([]term{r.softAffinity[w.at].term}, p))
		case wishedAntiAffinity:
			g := c.rival(r.softAnti[w.at].term.bound(p.namespace))
			out.avoided = append(out.avoided, avoidedCheck{g, AntiAffinity})
		}
	}
	return out
}

// Free says whether there is nothing to judge.
func (c *Checks) Free() bool { return c.none() }

// Judge judges the wishes alone; the kind's rules are judged by the kind.
func (c *Checks) Judge(s *Site) Finding { return c.judge(s) }

// Most is Kind.Most for the wishes alone.
func (c *Checks) Most(s *Site) int { return c.most(s, c.kind) }
