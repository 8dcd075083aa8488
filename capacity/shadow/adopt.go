package shadow

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/policy"
)

// Selector names nodes that exist and are to be judged as if a pool had bought them.
type Selector struct {
	Pool  string
	Nodes labels.Selector
}

// ParseSelector reads POOL=SELECTOR, where the selector is written as for kubectl's --selector.
func ParseSelector(text string) (Selector, error) {
	pool, rest, ok := strings.Cut(text, "=")
	if !ok || pool == "" || rest == "" {
		return Selector{}, fmt.Errorf("use POOL=SELECTOR, for example general=node-role.kubernetes.io/batch")
	}
	nodes, err := labels.Parse(rest)
	if err != nil {
		return Selector{}, fmt.Errorf("selector of pool %s: %w", pool, err)
	}
	return Selector{Pool: pool, Nodes: nodes}, nil
}

// existing is the shape of a node that is none of its pool's.
const existing = "(existing)"

// adopt gives a claim to every node that is taken to be a pool's and has none: those that carry the pool's label, and
// those that a selector names. Claims of nodes that are gone, or are so no more, are dropped.
func (s *Shadow) adopt(v *capacity.View) {
	pools := map[string]*v1alpha1.NodePool{}
	for _, p := range v.Pools {
		pools[p.Name] = p
	}
	there := map[string]bool{}
	for _, n := range v.Nodes {
		pool := pools[s.poolOf(n)]
		if pool == nil {
			continue
		}
		known := s.adopted[n.Name]
		switch {
		case known == nil && n.Claim == "":
			s.take(pool, n)
		case known == nil, known.Spec.Pool != pool.Name, n.Claim != known.Name:
			continue
		}
		there[n.Name] = true
	}
	for name, c := range s.adopted {
		if !there[name] {
			delete(s.adopted, name)
			s.Live.ForgetClaim(c.Name, c.UID)
		}
	}
}

func (s *Shadow) poolOf(n *capacity.Node) string {
	if pool := n.Object.Labels[v1alpha1.PoolLabel]; pool != "" {
		return pool
	}
	for _, selector := range s.Nodes {
		if selector.Nodes.Matches(labels.Set(n.Object.Labels)) {
			return selector.Pool
		}
	}
	return ""
}

// take makes the claim that a node would have: in the slot that the node is named after, else in the first that is free.
func (s *Shadow) take(pool *v1alpha1.NodePool, n *capacity.Node) {
	slot := 0
	for s.Live.Claim(capacity.SlotName(pool.Name, slot)) != nil {
		slot++
	}
	c := capacity.NewClaim(pool, shapeOf(pool, n), slot)
	if strings.HasPrefix(n.Name, pool.Name+"-") && s.Live.Claim(n.Name) == nil {
		c.Name = n.Name
	}
	s.adoptions++ // a UID that is gone never comes back
	c.UID, c.ResourceVersion = types.UID(fmt.Sprintf("existing-%d", s.adoptions)), "1"
	c.CreationTimestamp = metav1.NewTime(s.paper.now)
	c.Status = v1alpha1.NodeClaimStatus{State: v1alpha1.ClaimReady, NodeName: n.Name, ProviderID: n.Object.Spec.ProviderID}
	s.adopted[n.Name] = c
	s.Live.SetClaim(c)
}

// kubeletKeeps is how much of a machine, at most, its kubelet and system may keep from pods for the node to be taken for
// one of this shape.
const kubeletKeeps = 0.25

// shapeOf is the pool's shape that a node says it has, or the smallest that it has the size of.
func shapeOf(pool *v1alpha1.NodePool, n *capacity.Node) v1alpha1.Shape {
	alike := func(offered int64, of corev1.ResourceName, s v1alpha1.Shape, scale int64) bool {
		q := s.Resources[of]
		whole := q.Value() * scale
		return offered <= whole && float64(offered) >= float64(whole)*(1-kubeletKeeps)
	}
	found := v1alpha1.Shape{Name: existing, Resources: n.Allocatable.List()}
	best := 0.0
	for _, shape := range pool.Spec.Template.Shapes {
		if shape.Name == n.Object.Labels[v1alpha1.ShapeLabel] {
			return shape
		}
		cost := policy.Cost(shape)
		if alike(n.Allocatable.MilliCPU, corev1.ResourceCPU, shape, 1000) && alike(n.Allocatable.Memory, corev1.ResourceMemory, shape, 1) &&
			(found.Name == existing || cost < best) {
			found, best = shape, cost
		}
	}
	return found
}

// costOf a claim's machine for one hour.
func costOf(v *capacity.View, c *v1alpha1.NodeClaim) float64 {
	for _, p := range v.Pools {
		if p.Name != c.Spec.Pool {
			continue
		}
		for _, shape := range p.Spec.Template.Shapes {
			if shape.Name == c.Spec.Shape {
				return policy.Cost(shape)
			}
		}
	}
	return policy.Cost(v1alpha1.Shape{Resources: c.Spec.Resources})
}
