package topology

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// Subject is what rules see of a pod.
type Subject struct {
	Namespace string
	Labels    Labels
	// Rules of the pod's own spec, nil when it has none.
	Rules       *Rules
	Terminating bool
	// Rank is where a pod that has no node yet stands in the scheduler's queue: 0 for one that is there already, or will be
	// whatever becomes of the others. A spread constraint does not count pods of a higher rank than its own pod's: those
	// come later, and may go where they break it.
	Rank int32
}

// Standing are the pods that are there from the start, each with its site. They are looked at when they are first needed.
type Standing = iter.Seq2[*Site, Subject]

// Cluster counts pods by topology domain. Counters are made for those rules that a Kind is resolved for, and kept up by
// Put. It is not safe for concurrent use.
type Cluster struct {
	namespaces Namespaces
	standing   Standing
	surveyed   bool // the standing pods' rules are known
	counted    bool // the standing pods are in the census

	ruled   bool              // somebody has a rule
	visible map[string]bool   // label keys that any rule looks at
	seen    map[Labels]Labels // labels, and what is visible of them

	keys   []*topologyKey
	byName map[string]*topologyKey
	sites  []*Site
	scopes map[string]*scope
	listed []*scope

	census  census
	kinds   map[Subject]*Kind
	groups  int
	spreads map[string]*spreadGroup
	company map[string]*companyGroup
	rivals  map[string]*termGroup
	avoids  map[string]*avoidance

	spreadIndex  selectors[*spreadGroup]
	companyIndex selectors[*companyGroup]
	rivalIndex   selectors[*termGroup]
	avoidIndex   selectors[*avoidance]
}

// NewCluster makes a cluster without sites.
func NewCluster(namespaces Namespaces, standing Standing) *Cluster {
	return &Cluster{
		namespaces: namespaces, standing: standing,
		visible: map[string]bool{}, seen: map[Labels]Labels{},
		byName: map[string]*topologyKey{}, scopes: map[string]*scope{},
		census: newCensus(), kinds: map[Subject]*Kind{},
		spreads: map[string]*spreadGroup{}, company: map[string]*companyGroup{},
		rivals: map[string]*termGroup{}, avoids: map[string]*avoidance{},
	}
}

// Add adds a node.
func (c *Cluster) Add(node *corev1.Node) *Site { return c.enter(&Site{node: node}) }

// Open adds an imagined machine.
func (c *Cluster) Open(p *Profile) *Site { return c.enter(&Site{node: p.node, profile: p}) }

// Field adds imagined machines without number: each pod that is put there stands alone on one, and the machine is there
// as long as the pod. It is in one domain for the keys that all machines of the profile share.
func (c *Cluster) Field(p *Profile) *Site {
	return c.enter(&Site{node: p.node, profile: p, field: true, cluster: c})
}

func (c *Cluster) enter(s *Site) *Site {
	s.domains = make([]int32, 0, len(c.keys))
	for _, k := range c.keys {
		s.enter(k)
	}
	for _, sc := range c.listed {
		s.join(sc)
	}
	s.at = len(c.sites)
	c.sites = append(c.sites, s)
	return s
}

// Close removes a site on which no pods are left.
func (c *Cluster) Close(s *Site) {
	for _, sc := range c.listed {
		if s.in(sc) {
			for _, g := range sc.grounds {
				g.leave(s)
			}
		}
	}
	for _, k := range c.keys {
		s.leave(k)
	}
	last := len(c.sites) - 1
	c.sites[s.at], c.sites[last].at = c.sites[last], s.at
	c.sites, s.at = c.sites[:last], closed
}

// closed is where a site stands that was closed.
const closed = -1

// Reopen puts back a site that was closed.
func (c *Cluster) Reopen(s *Site) { c.enter(s) }

// Expect makes what a rule looks at visible. It is called for the rules of all pods that will be resolved, before the
// first of them is; the standing pods' own need not be named.
func (c *Cluster) Expect(r *Rules) {
	c.ruled = c.ruled || r != nil
	for key := range r.Selects {
		c.visible[key] = true
	}
}

// See is the part of a pod's labels that any rule looks at: pods of which it is the same need not be told apart.
func (c *Cluster) See(l Labels) Labels {
	c.survey()
	if len(c.visible) == 0 {
		return Labels{}
	}
	known, ok := c.seen[l]
	if !ok {
		known = l.only(c.visible)
		c.seen[l] = known
	}
	return known
}

// Ruled says whether any pod has a rule: where none has, pods need not be told apart at all.
func (c *Cluster) Ruled() bool {
	c.survey()
	return c.ruled
}

// survey reads the rules of the standing pods, and notes those that keep other pods away.
func (c *Cluster) survey() {
	if c.surveyed {
		return
	}
	c.surveyed = true
	type bearer struct {
		rules     *Rules
		namespace string
	}
	spots := map[bearer]*[]spot{}
	var order []bearer
	known := map[*Rules]bool{}
	for site, pod := range c.standing {
		if pod.Rules == nil {
			continue
		}
		if !known[pod.Rules] {
			known[pod.Rules] = true
			c.Expect(pod.Rules)
		}
		if !pod.Rules.Avoids() {
			continue
		}
		b := bearer{pod.Rules, pod.Namespace}
		if spots[b] == nil {
			spots[b] = new([]spot)
			order = append(order, b)
		}
		*spots[b] = append(*spots[b], spot{site: site, n: 1})
	}
	for _, b := range order {
		for i := range b.rules.anti {
			a := c.avoidance(b.rules.anti[i].bound(b.namespace))
			a.standing = append(a.standing, *spots[b])
		}
	}
}

// count takes the standing pods into the census.
func (c *Cluster) count() {
	if c.counted {
		return
	}
	c.counted = true
	for site, pod := range c.standing {
		p := c.census.of(populationKey{pod.Namespace, c.See(pod.Labels), pod.Terminating})
		if n := len(p.standing); n > 0 && p.standing[n-1].site == site {
			p.standing[n-1].n++
			continue
		}
		p.standing = append(p.standing, spot{site: site, n: 1})
	}
}
