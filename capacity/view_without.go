package capacity

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/provider/gate"
)

// Without is the view as it will be when these claims' nodes have been closed and the pods that are to be moved off them
// wait for a node again, as their controllers make them. It is for asking what a plan would say then; v stays as it is.
func (v *View) Without(claims []*v1alpha1.NodeClaim, moved map[string][]*Pod) *View {
	next := *v
	closed := make(map[string]*v1alpha1.NodeClaim, len(claims))
	for _, c := range claims {
		closed[c.Name] = c
	}
	next.Nodes, next.Claims = slices.Clone(v.Nodes), slices.Clone(v.Claims)
	next.Pods, next.Shortfalls = make(map[string][]*Pod, len(v.Pods)), slices.Clone(v.Shortfalls)
	for name, pods := range v.Pods {
		next.Pods[name] = pods
	}
	for i, n := range v.Nodes {
		if closed[n.Claim] != nil {
			next.Nodes[i] = n.emptied(moved[n.Name])
			next.Pods[n.Name] = slices.DeleteFunc(slices.Clone(v.Pods[n.Name]), func(p *Pod) bool { return slices.Contains(moved[n.Name], p) })
			for _, p := range moved[n.Name] {
				next.Shortfalls = append(next.Shortfalls, &Shortfall{Pod: p.Again(), Since: p.Created})
			}
		}
	}
	for i, c := range v.Claims {
		if closed[c.Object.Name] != nil {
			next.Claims[i] = c.closed()
		}
	}
	SortShortfalls(next.Shortfalls)
	return &next
}

// WithFreeze is the view with another freeze.
func (v *View) WithFreeze(f gate.Freeze) *View {
	next := *v
	next.Freeze = f
	return &next
}

// Shut is the view with no room on these nodes for pods that come; those that are there stay.
func (v *View) Shut(nodes map[string]bool) *View {
	next := *v
	next.Nodes = slices.Clone(v.Nodes)
	for i, n := range v.Nodes {
		if nodes[n.Name] {
			next.Nodes[i] = n.emptied(nil)
		}
	}
	return &next
}

// emptied is the node closed, without these pods.
func (n *Node) emptied(pods []*Pod) *Node {
	e := *n
	e.Stage, e.Used = Releasing, n.Used.Clone()
	for _, p := range pods {
		e.Used.Sub(p.Usage)
	}
	return &e
}

func (c *Claim) closed() *Claim {
	next := *c
	next.Object = c.Object.DeepCopy()
	next.Object.Spec.Release = &v1alpha1.Release{Reason: "Moved", Since: metav1.MicroTime{}}
	return &next
}

// Again is the pod as its controller makes it again after it left its node: it asks for what its template says.
func (p *Pod) Again() *Pod {
	a := *p
	a.Node, a.Nominated, a.Usage, a.Terminating = "", "", amount.Resources{}, false
	return &a
}
