package capacity

import (
	"slices"

	"github.com/muster-sh/muster/capacity/topology"
)

// company is where a pod may not go although there is room: it would keep another off the node that keeps room for that
// one. A less important pod counts as well where this one has a place of its own. The scheduler's own filters do not know of pods
// that are still to come; of those that are nominated they know only on the very node.
type company struct {
	nodes   map[*entry]bool // by a host port
	domains map[domain]bool // by anti-affinity, of either pod, or by a spread that counts this one elsewhere
	tilted  map[domain]bool // by a spread that would be too uneven; also where room is kept for the pod
	tied    map[domain]bool // who is to come there by affinity counts on the pod: it may not go elsewhere
}

type domain struct{ key, value string }

// shy says whether a pod keeps others off its node by more than the room it takes, or counts on some that are there.
func (p *Pod) shy() bool { return p.repels() || p.Ask.Rules.Spreads() || p.Ask.Rules.Seeks() }

// repels says whether a pod may keep any other off its node, whichever of them comes first.
func (p *Pod) repels() bool { return len(p.Ask.Ports) > 0 || p.Ask.Rules.Avoids() }

// companyFor is what to keep free for others when a pod is placed; nil where nothing is. Pods just like it count as well. A
// pod that was promised nothing would leave the place of its twin to nobody, and might stand in the room of a third. One that
// has a place of its own leaves the others to theirs: its own may be on a machine that comes later, and would be anybody's
// when the other looks for it.
func (l *Live) companyFor(p *Pod) *company {
	near, far := l.reserving+len(l.unasked) > 0 && (l.shy > 0 || p.repels()), len(l.arrivals) > 0 && l.wary > 0
	if !near && !far {
		return nil
	}
	r := rivals{Live: l, pod: p, provided: l.provided(p.UID), known: map[kin]rivalry{}}
	if r.provided {
		r.home = l.homeLabels(p.UID)
	}
	if near {
		r.considerNodes()
	}
	if far {
		r.considerArrivals()
	}
	if c := &r.company; c.nodes != nil || c.domains != nil || c.tilted != nil || c.tied != nil {
		return c
	}
	return nil
}

// rivals gathers the company of a pod.
type rivals struct {
	*Live
	company
	pod      *Pod
	provided bool
	home     map[string]string // labels of the pod's own place, if it is provided
	known    map[kin]rivalry
}

// kin is what pods have in common that rules about others cannot tell apart.
type kin struct {
	ask       *Ask
	namespace string
	labels    topology.Labels
}

// considerNodes counts the pods that are to come to nodes that are there.
func (r *rivals) considerNodes() {
	for e := range r.keeping {
		for _, other := range e.kept {
			r.consider(e, other)
		}
	}
	for _, h := range r.unasked {
		r.consider(r.Live.nodes[h.node], h.pod)
	}
}

// consider counts one pod that is to come to a node.
func (r *rivals) consider(e *entry, other *Pod) {
	p := r.pod
	if e.Object == nil || !r.matters(other) {
		return
	}
	over := r.over(other)
	if portsClash(p.Ask, other.Ask) {
		r.keepPorts(e)
	}
	note(&r.domains, e.Object.Labels, over.apart)
	r.tie(e.Object.Labels, over.draws)
	switch {
	case r.provided && twins(p, other):
	case !r.provided || other.Priority >= p.Priority && r.comesBefore(other, p):
		note(&r.tilted, e.Object.Labels, over.tilts)
	default:
		note(&r.domains, e.Object.Labels, over.tilts)
	}
}

// matters says whether a pod may be in the way of another one, or the other in its.
func (r *rivals) matters(other *Pod) bool {
	p := r.pod
	return (r.provided || other.Priority >= p.Priority) && other.UID != p.UID && (p.repels() || other.shy())
}

// over works out once for all pods that are alike what keeps the pod apart from them.
func (r *rivals) over(other *Pod) rivalry {
	p, key := r.pod, kin{other.Ask, other.Namespace, other.Labels}
	over, found := r.known[key]
	if !found {
		all, mine, theirs := topology.Namespaces(r.namespaces), p.Subject(), other.Subject()
		over = rivalry{topology.Apart(all, mine, theirs), topology.Tilts(mine, theirs), topology.Draws(all, mine, theirs)}
		r.known[key] = over
	}
	return over
}

// rivalry is over which keys a pod is kept away from another that is still to come, by anti-affinity and by the other's
// spread, and over which it is kept near by the other's affinity. The plan counted the pod for these where its own room is, and
// there it has to wait only for a spread of one that comes first.
type rivalry struct{ apart, tilts, draws []string }

// tie keeps the pod to the domains of its own place where another one is to come that counts on it.
func (r *rivals) tie(labels map[string]string, keys []string) {
	note(&r.tied, labels, slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		value, known := r.home[key]
		return !known || value != labels[key]
	}))
}

// comesBefore says whether the last plan has a pod take its place before another one, or before all that it found no place
// for. The plan judged each pod's spread among those that came before it, and on machines to come among those that are no less
// important. Only one of two waits for the other, so that no two wait for each other.
func (l *Live) comesBefore(first, second *Pod) bool {
	turn, expected := l.turns[first.UID]
	later, too := l.turns[second.UID]
	if !expected || !too {
		return !too && (expected || first.Priority > second.Priority)
	}
	return turn < later
}

func (c *company) keepPorts(e *entry) {
	if c.nodes == nil {
		c.nodes = map[*entry]bool{}
	}
	c.nodes[e] = true
}

// note adds the domains in which a node with these labels stands.
func note(domains *map[domain]bool, labels map[string]string, keys []string) {
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			if *domains == nil {
				*domains = map[domain]bool{}
			}
			(*domains)[domain{key, value}] = true
		}
	}
}

// bars says whether the pod may not go to a node; own says that room is kept for it there.
func (c *company) bars(e *entry, own bool) bool {
	switch {
	case c == nil:
		return false
	case e.in(c.tilted):
		return true
	}
	return !own && (c.nodes[e] || e.in(c.domains) || !e.inAll(c.tied))
}

// in says whether a node stands in one of these domains.
func (e *entry) in(domains map[domain]bool) bool {
	for d := range domains {
		if value, ok := e.Object.Labels[d.key]; ok && value == d.value {
			return true
		}
	}
	return false
}

// inAll says whether a node stands in each of these domains.
func (e *entry) inAll(domains map[domain]bool) bool {
	for d := range domains {
		if e.Object.Labels[d.key] != d.value {
			return false
		}
	}
	return true
}

// twins says whether nobody can tell two pods apart.
func twins(p, other *Pod) bool {
	return p.Ask.Signature == other.Ask.Signature && p.Priority == other.Priority && p.Namespace == other.Namespace && p.Labels == other.Labels
}

func portsClash(a, b *Ask) bool {
	return slices.ContainsFunc(a.Ports, func(port HostPort) bool { return slices.ContainsFunc(b.Ports, port.Conflicts) })
}
