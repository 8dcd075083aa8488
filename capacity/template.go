package capacity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// TemplateHash stands for what a pool's machines are made from. With another template, what was learned of the machines
// says nothing.
func TemplateHash(pool *v1alpha1.NodePool) string {
	raw, err := json.Marshal([]any{pool.Spec.Provider, pool.Spec.Template})
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// Template is what is worked out once for each version of a pool, and not for each plan.
type Template struct {
	// Hash is the TemplateHash.
	Hash string

	uid        types.UID
	generation int64
	goods      []*good // of each of the fixed shapes, in their order
}

func newTemplate(p *v1alpha1.NodePool) *Template {
	t := &Template{Hash: TemplateHash(p), uid: p.UID, generation: p.Generation}
	for _, shape := range p.Spec.Template.Shapes {
		t.goods = append(t.goods, goodOf(shape))
	}
	return t
}

// of says whether the template is that of this version of the pool.
func (t *Template) of(p *v1alpha1.NodePool) bool {
	return t != nil && p.Generation != 0 && t.generation == p.Generation && t.uid == p.UID
}

// templateOf is the pool's template, worked out unless its spec is the one known.
func (l *Live) templateOf(p *v1alpha1.NodePool) *Template {
	l.mu.Lock()
	known := l.templates[p.Name]
	l.mu.Unlock()
	if known.of(p) {
		return known
	}
	return newTemplate(p)
}

// Template is what there is to know of the template of a pool of the view.
func (v *View) Template(pool *v1alpha1.NodePool) *Template {
	if t := v.Templates[pool.Name]; t != nil {
		return t
	}
	return newTemplate(pool)
}

// madeFrom says whether a claim's machine is what the pool's template would make now. What came of another one says
// nothing about the next.
func madeFrom(pool *v1alpha1.NodePool, c *v1alpha1.NodeClaim) bool { return newMould(pool).made(c) }

// mould makes what a pool's template would make now, each shape once: a pool has hundreds of claims of a few shapes.
type mould struct {
	pool  *v1alpha1.NodePool
	specs map[string]*v1alpha1.NodeClaimSpec // by shape; nil for one that the template has no more
}

func newMould(pool *v1alpha1.NodePool) *mould {
	return &mould{pool: pool, specs: map[string]*v1alpha1.NodeClaimSpec{}}
}

func (m *mould) made(c *v1alpha1.NodeClaim) bool {
	now := m.now(c)
	ranged := m.pool.Spec.Template.Range != nil // then a claim's own size is what it was made of
	return now != nil && now.Provider == c.Spec.Provider && (ranged || sameAmounts(now.Resources, c.Spec.Resources)) &&
		sameAmounts(now.Overhead, c.Spec.Overhead) && maps.Equal(now.Labels, c.Spec.Labels) &&
		maps.Equal(now.Annotations, c.Spec.Annotations) && equality.Semantic.DeepEqual(now.Taints, c.Spec.Taints) &&
		equality.Semantic.DeepEqual(now.StartupTaints, c.Spec.StartupTaints)
}

// now is spec, worked out once for each shape.
func (m *mould) now(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaimSpec {
	now, known := m.specs[c.Spec.Shape]
	if !known {
		now = m.spec(c)
		m.specs[c.Spec.Shape] = now
	}
	return now
}

// spec is what a claim of this shape would say now; nil where there is none.
func (m *mould) spec(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaimSpec {
	shape := v1alpha1.Shape{Name: c.Spec.Shape, Resources: c.Spec.Resources}
	if m.pool.Spec.Template.Range == nil {
		i := slices.IndexFunc(m.pool.Spec.Template.Shapes, func(s v1alpha1.Shape) bool { return s.Name == c.Spec.Shape })
		if i < 0 {
			return nil
		}
		shape = m.pool.Spec.Template.Shapes[i]
	}
	return &NewClaim(m.pool, shape, noSlot).Spec
}

// sameAmounts compares what scheduling counts. Lists that are alike word for word are not read.
func sameAmounts(a, b corev1.ResourceList) bool {
	alike := func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 }
	return maps.EqualFunc(a, b, alike) || amount.Of(a).Equal(amount.Of(b))
}
