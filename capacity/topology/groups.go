package topology

import (
	"math"

	"k8s.io/apimachinery/pkg/labels"
)

// counter is a group of pods that is counted by domain. It counts n more pods, or fewer, on a site: each has a machine of
// its own there where scattered is set.
type counter interface {
	add(s *Site, n int32, scattered bool)
	id() groupID
}

// groupID tells the groups of a Cluster apart.
type groupID int

func (n groupID) id() groupID { return n }

func (c *Cluster) newID() groupID {
	c.groups++
	return groupID(c.groups)
}

// spreadGroup counts the pods that a spread constraint selects.
type spreadGroup struct {
	groupID
	ground    *ground
	namespace string
	selector  labels.Selector
	rank      int32 // pods of a higher one are not counted
	counts    tally
	lows      lows
}

// add leaves out pods on nodes that the constraint does not count.
func (g *spreadGroup) add(s *Site, n int32, scattered bool) {
	d := s.domains[g.ground.key.index]
	switch {
	case !s.in(g.ground.scope):
	case s.field && s.owns(g.ground.key) && scattered:
		g.lows.hold(g.counts.at(d)+1, n)
	case s.field && s.owns(g.ground.key):
		g.counts.add(d, n)
	default:
		now := g.counts.add(d, n)
		g.lows.move(now-n, now)
	}
}

// selects says whether pods of a subject are counted. A selector of everything counts nobody, though a pod matches it
// itself (podtopologyspread, countPodsMatchSelector); terminating pods are not counted.
func (g *spreadGroup) selects(p *population) bool {
	return p.namespace == g.namespace && !p.terminating && !g.selector.Empty() && g.selector.Matches(p.labels)
}

// least is the smallest number of pods in any domain, 0 where there are fewer domains than wanted.
func (g *spreadGroup) least(minDomains int32) int32 {
	switch {
	case g.ground.domains < int(minDomains):
		return 0
	case g.ground.domains == 0:
		return math.MaxInt32
	case g.lows.filled < g.ground.domains:
		return 0
	}
	return g.lows.least
}

// companyGroup counts the pods that match all terms of a pod's affinity together.
type companyGroup struct {
	groupID
	terms  []boundTerm
	keys   []*topologyKey
	counts []tally // by the index in keys
	total  int64   // pods counted in any domain of any key
}

func (g *companyGroup) add(s *Site, n int32, scattered bool) {
	for i, k := range g.keys {
		if d := s.domains[k.index]; d != nowhere {
			g.total += int64(n)
			if !scattered || !s.owns(k) {
				g.counts[i].add(d, n)
			}
		}
	}
}

func (g *companyGroup) selects(all Namespaces, namespace string, pod Labels) bool {
	for i := range g.terms {
		if !g.terms[i].seeks(all, namespace, pod) {
			return false
		}
	}
	return true
}

// termGroup counts by domain the pods that an anti-affinity term matches, or else those that have the term.
type termGroup struct {
	groupID
	term   boundTerm
	key    *topologyKey
	counts tally
}

func (g *termGroup) add(s *Site, n int32, scattered bool) {
	if d := s.domains[g.key.index]; d != nowhere && (!scattered || !s.owns(g.key)) {
		g.counts.add(d, n)
	}
}

func (g *termGroup) present(s *Site) bool {
	d := s.domains[g.key.index]
	return d != nowhere && g.counts.at(d) > 0
}

// avoidance is an anti-affinity term with the pods that have it. They are counted from when a kind of pods is known that
// the term keeps away: in most clusters nearly all terms keep away only the pods that have them.
type avoidance struct {
	termGroup
	counting bool
	standing [][]spot // of pods that were there from the start
	kinds    []*Kind  // that have the term
}
