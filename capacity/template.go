package capacity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
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

// template is a TemplateHash and the version of the pool it was worked out for.
type template struct {
	uid        types.UID
	generation int64
	hash       string
}

// takeTemplate works out a pool's TemplateHash, unless its spec is the one known.
func (l *Live) takeTemplate(p *v1alpha1.NodePool) {
	l.mu.Lock()
	known := l.templates[p.Name]
	l.mu.Unlock()
	if p.Generation != 0 && known.generation == p.Generation && known.uid == p.UID {
		return
	}
	fresh := template{uid: p.UID, generation: p.Generation, hash: TemplateHash(p)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.templates[p.Name] = fresh
}

// Template is TemplateHash, worked out once for each version of a pool.
func (v *View) Template(pool *v1alpha1.NodePool) string {
	if hash := v.Templates[pool.Name]; hash != "" {
		return hash
	}
	return TemplateHash(pool)
}

// madeFrom says whether a claim's machine is what the pool's template would make now. What came of another one says
// nothing about the next.
func madeFrom(pool *v1alpha1.NodePool, c *v1alpha1.NodeClaim) bool {
	shape := v1alpha1.Shape{Name: c.Spec.Shape, Resources: c.Spec.Resources}
	if pool.Spec.Template.Range == nil {
		found := false
		for _, s := range pool.Spec.Template.Shapes {
			if s.Name == c.Spec.Shape {
				shape, found = s, true
			}
		}
		if !found {
			return false
		}
	}
	now := NewClaim(pool, shape, noSlot).Spec
	return now.Provider == c.Spec.Provider && sameAmounts(now.Resources, c.Spec.Resources) &&
		sameAmounts(now.Overhead, c.Spec.Overhead) && equality.Semantic.DeepEqual(now.Labels, c.Spec.Labels) &&
		equality.Semantic.DeepEqual(now.Annotations, c.Spec.Annotations) &&
		equality.Semantic.DeepEqual(now.Taints, c.Spec.Taints) &&
		equality.Semantic.DeepEqual(now.StartupTaints, c.Spec.StartupTaints)
}

func sameAmounts(a, b corev1.ResourceList) bool { return ResourcesOf(a).Equal(ResourcesOf(b)) }
