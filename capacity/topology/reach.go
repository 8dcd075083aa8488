package topology

import "strings"

// key makes a label a topology key and finds every site's domain.
func (c *Cluster) key(name string) *topologyKey {
	if k := c.byName[name]; k != nil {
		return k
	}
	k := &topologyKey{index: len(c.keys), name: name, domains: map[string]int32{}}
	c.keys = append(c.keys, k)
	c.byName[name] = k
	for _, s := range c.sites {
		s.enter(k)
	}
	return k
}

// scope is the set of nodes that a constraint counts.
func (c *Cluster) scope(r *Rules, p policy, names []string) *scope {
	id := appendText(nil, strings.Join(names, "\x00"))
	if p.honorsAffinity {
		id = appendText(append(id, 'a'), r.requiredText)
	}
	if p.honorsTaints {
		id = appendText(append(id, 't'), r.tolerationsText)
	}
	if sc := c.scopes[string(id)]; sc != nil {
		return sc
	}
	sc := &scope{index: len(c.listed), rules: r, policy: p}
	for _, name := range names {
		sc.keys = append(sc.keys, c.key(name))
	}
	c.scopes[string(id)] = sc
	c.listed = append(c.listed, sc)
	for _, s := range c.sites {
		s.join(sc)
	}
	return sc
}

func (c *Cluster) ground(r *Rules, rule *constraint, names []string) *ground {
	// No required affinity and no selector let every node in.
	p := policy{honorsAffinity: rule.honorsAffinity && r.requiredText != "", honorsTaints: rule.honorsTaints}
	sc, k := c.scope(r, p, names), c.key(rule.key)
	for _, g := range sc.grounds {
		if g.key == k {
			return g
		}
	}
	g := &ground{scope: sc, key: k}
	sc.grounds = append(sc.grounds, g)
	for _, s := range c.sites {
		if s.in(sc) {
			g.enter(s)
		}
	}
	return g
}
