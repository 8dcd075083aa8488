package topology

// Kind resolves the kind of a pod: the rules that judge it and those that count it, its own and other pods'.
func (c *Cluster) Kind(pod Subject) *Kind {
	pod.Labels = c.See(pod.Labels)
	if known := c.kinds[pod]; known != nil {
		return known
	}
	k := &Kind{subject: pod}
	c.kinds[pod] = k
	p := c.census.of(populationKey{pod.Namespace, pod.Labels, pod.Terminating})
	p.kinds = append(p.kinds, k)
	c.joinGroups(k, p)
	if pod.Rules != nil {
		c.bindRules(k, p)
	}
	return k
}

// joinGroups finds the groups known so far that count the kind, and the terms that keep it away.
func (c *Cluster) joinGroups(k *Kind, p *population) {
	for g := range c.spreadIndex.candidates(p.namespace, p.labels) {
		if g.selects(p) && k.subject.Rank <= g.rank {
			k.counted = append(k.counted, g)
		}
	}
	for g := range c.companyIndex.candidates(p.namespace, p.labels) {
		if g.selects(c.namespaces, p.namespace, p.labels) {
			k.counted = append(k.counted, g)
		}
	}
	for g := range c.rivalIndex.candidates(p.namespace, p.labels) {
		if g.term.seeks(c.namespaces, p.namespace, p.labels) {
			k.counted = append(k.counted, g)
		}
	}
	for a := range c.avoidIndex.candidates(p.namespace, p.labels) {
		c.keepAway(a, p, k)
	}
}

// keepAway has a kind avoid the pods of a term that matches it.
func (c *Cluster) keepAway(a *avoidance, p *population, k *Kind) {
	if a.term.shuns(c.namespaces, p.namespace, p.labels) {
		c.start(a)
		k.avoided = append(k.avoided, avoidedCheck{&a.termGroup, ExistingAvoidance})
	}
}

// bindRules binds the rules of the kind's own spec.
func (c *Cluster) bindRules(k *Kind, p *population) {
	r := k.subject.Rules
	for i := range r.spread {
		k.spreads = append(k.spreads, c.spreadCheck(k, &r.spread[i], r.spreadKeys, p))
	}
	if len(r.affinity) > 0 {
		k.company = append(k.company, c.companyCheck(r.affinity, p))
	}
	var own []avoidedCheck
	var bound []boundTerm
	for i := range r.anti {
		bound = append(bound, r.anti[i].bound(p.namespace))
		own = append(own, avoidedCheck{c.rival(bound[i]), AntiAffinity})
	}
	k.avoided = append(own, k.avoided...)
	for i := range bound {
		c.bear(k, bound[i])
	}
}

func (c *Cluster) spreadCheck(k *Kind, rule *constraint, keys []string, p *population) spreadCheck {
	selector, text := rule.bound(p.labels)
	g := c.spread(p.namespace, selector, text, c.ground(k.subject.Rules, rule, keys), k.subject.Rank)
	check := spreadCheck{spreadGroup: g, maxSkew: rule.maxSkew, minDomains: rule.minDomains}
	if selector.Matches(p.labels) {
		check.itself = 1
	}
	return check
}

func (c *Cluster) companyCheck(list []term, p *population) companyCheck {
	bound := make([]boundTerm, len(list))
	for i := range list {
		bound[i] = list[i].bound(p.namespace)
	}
	g := c.companyOf(bound)
	return companyCheck{g, g.selects(c.namespaces, p.namespace, p.labels)}
}
