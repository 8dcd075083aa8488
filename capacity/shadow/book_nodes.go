package shadow

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// release takes note of a node that would be given back.
func (b *book) release(r reaper.Release, cost float64, now time.Time) *Node {
	n := &Node{
		Node: r.Claim.Status.NodeName, Pool: r.Claim.Spec.Pool, Shape: r.Claim.Spec.Shape, Cost: cost, Reason: string(r.Reason), Since: now,
		guests: map[types.UID]bool{},
	}
	for _, p := range r.Pods {
		n.Pods = append(n.Pods, p.Key())
		n.guests[p.UID] = true
	}
	b.nodes[n.Node] = n
	return n
}

// keep ends the releases of nodes that would have been missed: those that a pod came to since. It returns them.
func (b *book) keep(v *capacity.View, now time.Time) []*Node {
	var ended []*Node
	for _, n := range sorted(b.nodes) {
		if n.Why = n.over(v); n.Why == "" {
			continue
		}
		n.Ended = &now
		delete(b.nodes, n.Node)
		t := b.over[n.Pool]
		t.add(n.totals(now))
		b.over[n.Pool] = t
		b.endedNodes.put(*n)
		ended = append(ended, n)
	}
	return ended
}

func (n *Node) over(v *capacity.View) string {
	came := func(p *capacity.Pod) bool { return guest(p) && !n.guests[p.UID] }
	at := slices.IndexFunc(v.Nodes, func(o *capacity.Node) bool { return o.Name == n.Node })
	switch {
	case at < 0:
		return WhyMissing
	case v.Nodes[at].Claim == "":
		return WhyOther
	case slices.ContainsFunc(v.Pods[n.Node], came), slices.ContainsFunc(v.Held[n.Node], came):
		return WhyUsed
	}
	return ""
}

// gone are the nodes that would have been given back by now.
func (b *book) gone() map[string]bool {
	gone := make(map[string]bool, len(b.nodes))
	for name := range b.nodes {
		gone[name] = true
	}
	return gone
}
