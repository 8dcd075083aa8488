package capacity

import (
	"slices"

	"github.com/muster-sh/muster/capacity/topology"
)

// company is where a pod may not go although there is room: it would keep a pod of no lower priority off the node that
// keeps room for that one. The scheduler's own filters do not know of pods that are still to come.
type company struct {
	nodes   map[*entry]bool // by a host port
	domains map[domain]bool // by anti-affinity, of either pod
}

type domain struct{ key, value string }

// shy says whether a pod keeps others off its node by more than the room it takes.
func (p *Pod) shy() bool { return len(p.Ask.Ports) > 0 || p.Ask.Rules.Avoids() }

// companyFor is what to keep free for others when a pod is placed; nil where nothing is. Pods just like it do not count:
// which of them goes where makes no difference.
func (l *Live) companyFor(p *Pod) *company {
	if l.reserving == 0 || l.shy == 0 && !p.shy() {
		return nil
	}
	c := &company{}
	apart := map[classKey][]string{}
	for e := range l.keeping {
		for _, other := range e.kept {
			if e.Object == nil || other.Priority < p.Priority || other.UID == p.UID || !p.shy() && !other.shy() || twins(p, other) {
				continue
			}
			key := classKey{ask: other.Ask, namespace: other.Namespace, labels: other.Labels}
			keys, known := apart[key]
			if !known {
				keys = topology.Apart(topology.Namespaces(l.namespaces), subject(p), subject(other))
				apart[key] = keys
			}
			c.keep(e, keys, portsClash(p.Ask, other.Ask))
		}
	}
	if c.nodes == nil && c.domains == nil {
		return nil
	}
	return c
}

func (c *company) keep(e *entry, keys []string, ports bool) {
	if ports {
		if c.nodes == nil {
			c.nodes = map[*entry]bool{}
		}
		c.nodes[e] = true
	}
	for _, key := range keys {
		if value, ok := e.Object.Labels[key]; ok {
			if c.domains == nil {
				c.domains = map[domain]bool{}
			}
			c.domains[domain{key, value}] = true
		}
	}
}

// bars says whether the pod may not go to a node.
func (c *company) bars(e *entry) bool {
	if c == nil {
		return false
	}
	if c.nodes[e] {
		return true
	}
	for d := range c.domains {
		if value, ok := e.Object.Labels[d.key]; ok && value == d.value {
			return true
		}
	}
	return false
}

// twins says whether nobody can tell two pods apart.
func twins(p, other *Pod) bool {
	return p.Ask.Signature == other.Ask.Signature && p.Priority == other.Priority && p.Namespace == other.Namespace && p.Labels == other.Labels
}

func portsClash(a, b *Ask) bool {
	return slices.ContainsFunc(a.Ports, func(port HostPort) bool { return slices.ContainsFunc(b.Ports, port.conflicts) })
}
