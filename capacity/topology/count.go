package topology

import (
	"encoding/binary"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// spread is the group that a spread constraint counts; constraints that count alike share it.
func (c *Cluster) spread(namespace string, selector labels.Selector, text string, on *ground, rank int32) *spreadGroup {
	id := appendText(make([]byte, 0, 128), namespace)
	id = appendText(id, text)
	id = binary.AppendUvarint(id, uint64(on.scope.index))
	id = binary.AppendUvarint(id, uint64(on.key.index))
	id = binary.AppendVarint(id, int64(rank))
	if g := c.spreads[string(id)]; g != nil {
		return g
	}
	g := &spreadGroup{groupID: c.newID(), ground: on, namespace: namespace, selector: selector, rank: rank}
	c.spreads[string(id)] = g
	c.spreadIndex.add([]string{namespace}, selector, g)
	c.fill(g, []string{namespace}, selector, rank, g.selects)
	return g
}

// companyOf is the group of pods that match all of some affinity terms.
func (c *Cluster) companyOf(terms []boundTerm) *companyGroup {
	var id []byte
	for i := range terms {
		id = appendText(id, terms[i].id)
	}
	if g := c.company[string(id)]; g != nil {
		return g
	}
	g := &companyGroup{groupID: c.newID(), terms: terms}
	for i := range terms {
		if k := c.key(terms[i].key); !slices.Contains(g.keys, k) {
			g.keys = append(g.keys, k)
		}
	}
	g.counts = make([]tally, len(g.keys))
	c.company[string(id)] = g
	// A pod has to match all terms, so any one of them finds all candidates.
	in := terms[0].inNamespaces()
	c.companyIndex.add(in, terms[0].selector, g)
	c.fill(g, in, terms[0].selector, anyRank, func(p *population) bool {
		return g.selects(c.namespaces, p.namespace, p.labels)
	})
	return g
}

// rival counts the pods that a term of a pod to be placed matches.
func (c *Cluster) rival(t boundTerm) *termGroup {
	if g := c.rivals[t.id]; g != nil {
		return g
	}
	g := &termGroup{groupID: c.newID(), term: t, key: c.key(t.key)}
	c.rivals[t.id] = g
	in := t.inNamespaces()
	c.rivalIndex.add(in, t.selector, g)
	c.fill(g, in, t.selector, anyRank, func(p *population) bool {
		return t.seeks(c.namespaces, p.namespace, p.labels)
	})
	return g
}

const anyRank = math.MaxInt32

// fill counts the pods that are there into a new group, up to a rank, and has those to come counted.
func (c *Cluster) fill(g counter, in []string, s labels.Selector, rank int32, selects func(*population) bool) {
	c.count()
	for _, p := range c.census.candidates(in, s) {
		if !selects(p) {
			continue
		}
		countSpots(g, p.standing)
		for _, k := range p.kinds {
			if k.subject.Rank > rank {
				continue
			}
			countSpots(g, k.put)
			k.counted = append(k.counted, g)
		}
	}
}

// countSpots leaves out sites that are closed: what was put there was taken away before.
func countSpots(g counter, spots []spot) {
	for _, at := range spots {
		if at.site.at != closed {
			g.add(at.site, at.n, at.scattered)
		}
	}
}

// avoidance is an anti-affinity term with the pods that have it; pods of kinds that it matches stay away from them.
func (c *Cluster) avoidance(t boundTerm) *avoidance {
	if a := c.avoids[t.id]; a != nil {
		return a
	}
	a := &avoidance{termGroup: termGroup{groupID: c.newID(), term: t, key: c.key(t.key)}}
	c.avoids[t.id] = a
	in := t.inNamespaces()
	c.avoidIndex.add(in, t.selector, a)
	for _, p := range c.census.candidates(in, t.selector) {
		for _, k := range p.kinds {
			c.keepAway(a, p, k)
		}
	}
	return a
}

// bear notes that pods of a kind have a term.
func (c *Cluster) bear(k *Kind, t boundTerm) {
	a := c.avoidance(t)
	a.kinds = append(a.kinds, k)
	if a.counting {
		k.counted = append(k.counted, a)
	}
}

// start counts the pods that have a term, now and from now on.
func (c *Cluster) start(a *avoidance) {
	if a.counting {
		return
	}
	a.counting = true
	for _, spots := range a.standing {
		countSpots(a, spots)
	}
	for _, k := range a.kinds {
		countSpots(a, k.put)
		k.counted = append(k.counted, a)
	}
}
