package topology

import (
	corev1 "k8s.io/api/core/v1"
)

// Site is a node as rules see it: the domain it is in for each topology key, and which spread constraints count it.
type Site struct {
	node    *corev1.Node
	profile *Profile
	domains []int32  // by key; nowhere where the node lacks the label
	within  []uint64 // by scope, a bit each
	at      int      // in Cluster.sites

	field    bool // see Cluster.Field
	machines int32
	cluster  *Cluster // of a field
}

const nowhere = int32(-1)

// Profile is a machine of which many could be imagined, prepared so that adding one costs little. Labels whose value is
// the profile's own name differ between any two machines of it.
type Profile struct {
	node    *corev1.Node
	domains []int32 // by key
	within  []int8  // by scope: 1 counted, -1 not, 0 not known yet
}

// Of a profile's domains: another one for each machine, and one not looked up yet.
const (
	itsOwn     = int32(-2)
	notAskedOf = int32(-3)
)

// NewProfile prepares a machine.
func NewProfile(node *corev1.Node) *Profile { return &Profile{node: node} }

// topologyKey is a label of nodes that rules speak about.
type topologyKey struct {
	index   int
	name    string
	domains map[string]int32
	count   int32
	free    []int32 // domains of machines that are gone, which had them for themselves
}

func (k *topologyKey) of(node *corev1.Node) int32 {
	value, ok := node.Labels[k.name]
	if !ok {
		return nowhere
	}
	d, known := k.domains[value]
	if !known {
		d = k.count
		k.count++
		k.domains[value] = d
	}
	return d
}

// fresh is a domain that no other machine is in.
func (k *topologyKey) fresh() int32 {
	if n := len(k.free); n > 0 {
		d := k.free[n-1]
		k.free = k.free[:n-1]
		return d
	}
	k.count++
	return k.count - 1
}

func (p *Profile) domain(k *topologyKey) int32 {
	for len(p.domains) <= k.index {
		p.domains = append(p.domains, notAskedOf)
	}
	if p.domains[k.index] == notAskedOf {
		if value, ok := p.node.Labels[k.name]; ok && value == p.node.Name {
			p.domains[k.index] = itsOwn
		} else {
			p.domains[k.index] = k.of(p.node)
		}
	}
	return p.domains[k.index]
}

// enter works out the site's domain for a key.
func (s *Site) enter(k *topologyKey) {
	var d int32
	switch {
	case s.profile == nil:
		d = k.of(s.node)
	case s.profile.domain(k) == itsOwn:
		d = k.fresh()
	default:
		d = s.profile.domain(k)
	}
	s.domains = append(s.domains[:k.index], d)
}

// leave gives back a domain that only this site was in.
func (s *Site) leave(k *topologyKey) {
	if s.owns(k) {
		k.free = append(k.free, s.domains[k.index])
	}
}

// owns says whether every machine of the site's profile is in a domain of its own.
func (s *Site) owns(k *topologyKey) bool { return s.profile != nil && s.profile.domain(k) == itsOwn }

// populate makes n more machines of a field domains of the keys that no two machines share.
func (s *Site) populate(n int32) {
	s.machines += n
	for _, sc := range s.cluster.listed {
		if !s.in(sc) {
			continue
		}
		for _, g := range sc.grounds {
			if s.owns(g.key) {
				g.domains += int(n)
			}
		}
	}
}

// scope is a set of nodes that spread constraints count: those with all of a pod's keys that its node inclusion policies
// let in.
type scope struct {
	index   int
	keys    []*topologyKey
	rules   *Rules
	policy  policy
	grounds []*ground
}

type policy struct{ honorsAffinity, honorsTaints bool }

// ground is a scope cut up by one of its keys.
type ground struct {
	scope   *scope
	key     *topologyKey
	nodes   tally // by domain
	domains int   // how many have a node
}

func (s *Site) in(sc *scope) bool {
	return s.within[sc.index>>6]&(1<<(sc.index&63)) != 0
}

// join works out whether a scope counts the site, and counts the site in.
func (s *Site) join(sc *scope) {
	for len(s.within) <= sc.index>>6 {
		s.within = append(s.within, 0)
	}
	s.within[sc.index>>6] &^= 1 << (sc.index & 63)
	if !s.counted(sc) {
		return
	}
	s.within[sc.index>>6] |= 1 << (sc.index & 63)
	for _, g := range sc.grounds {
		g.enter(s)
	}
}

func (s *Site) counted(sc *scope) bool {
	if s.profile == nil {
		return sc.counts(s.node)
	}
	p := s.profile
	for len(p.within) <= sc.index {
		p.within = append(p.within, 0)
	}
	if p.within[sc.index] == 0 {
		p.within[sc.index] = -1
		if sc.counts(p.node) {
			p.within[sc.index] = 1
		}
	}
	return p.within[sc.index] > 0
}

// counts follows podtopologyspread: calPreFilterState and matchNodeInclusionPolicies.
func (sc *scope) counts(node *corev1.Node) bool {
	for _, k := range sc.keys {
		if _, ok := node.Labels[k.name]; !ok {
			return false
		}
	}
	if sc.policy.honorsAffinity {
		// A term that does not parse matches nothing; the others may still match.
		if ok, _ := sc.rules.required.Match(node); !ok {
			return false
		}
	}
	return !sc.policy.honorsTaints || tolerates(sc.rules.tolerations, node.Spec.Taints)
}

func (g *ground) enter(s *Site) {
	if s.field && s.owns(g.key) {
		g.domains += int(s.machines)
		return
	}
	if g.nodes.add(s.domains[g.key.index], 1) == 1 {
		g.domains++
	}
}

func (g *ground) leave(s *Site) {
	if s.field && s.owns(g.key) {
		g.domains -= int(s.machines)
		return
	}
	if g.nodes.add(s.domains[g.key.index], -1) == 0 {
		g.domains--
	}
}
