package capacity

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// MadeFrom says whether a claim's machine is what the pool's template would make now. What came of another one says
// nothing about the next.
func MadeFrom(pool *v1alpha1.NodePool, c *v1alpha1.NodeClaim) bool { return NewMould(pool).Made(c) }

// Mould makes what a pool's template would make now, each shape once: a pool has hundreds of claims of a few shapes.
type Mould struct {
	pool  *v1alpha1.NodePool
	specs map[string]*v1alpha1.NodeClaimSpec // by shape; nil for one that the template has no more
}

// NewMould makes nothing yet.
func NewMould(pool *v1alpha1.NodePool) *Mould {
	return &Mould{pool: pool, specs: map[string]*v1alpha1.NodeClaimSpec{}}
}

// Made says whether a claim's machine is what would be made now.
func (m *Mould) Made(c *v1alpha1.NodeClaim) bool {
	now := m.now(c)
	ranged := m.pool.Spec.Template.Range != nil // then a claim's own size is what it was made of
	return now != nil && now.Provider == c.Spec.Provider && (ranged || amount.Same(now.Resources, c.Spec.Resources)) &&
		amount.Same(now.Overhead, c.Spec.Overhead) && maps.Equal(now.Labels, c.Spec.Labels) &&
		maps.Equal(now.Annotations, c.Spec.Annotations) && equality.Semantic.DeepEqual(now.Taints, c.Spec.Taints) &&
		equality.Semantic.DeepEqual(now.StartupTaints, c.Spec.StartupTaints)
}

// now is spec, worked out once for each shape.
func (m *Mould) now(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaimSpec {
	now, known := m.specs[c.Spec.Shape]
	if !known {
		now = m.spec(c)
		m.specs[c.Spec.Shape] = now
	}
	return now
}

// spec is what a claim of this shape would say now; nil where there is none.
func (m *Mould) spec(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaimSpec {
	shape := v1alpha1.Shape{Name: c.Spec.Shape, Resources: c.Spec.Resources}
	if m.pool.Spec.Template.Range == nil {
		i := slices.IndexFunc(m.pool.Spec.Template.Shapes, func(s v1alpha1.Shape) bool { return s.Name == c.Spec.Shape })
		if i < 0 {
			return nil
		}
		shape = m.pool.Spec.Template.Shapes[i]
	}
	return &NewClaim(m.pool, shape, NoSlot).Spec
}
