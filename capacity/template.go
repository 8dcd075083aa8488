package capacity

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/policy"
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
	// Goods are what each of the fixed shapes says, in their order.
	Goods []*Good
	// ByCost is where they stand, the cheapest first.
	ByCost []int
	// Lines has the first shape of each line.
	Lines []int

	uid        types.UID
	generation int64
}

func newTemplate(p *v1alpha1.NodePool) *Template {
	t := &Template{Hash: TemplateHash(p), uid: p.UID, generation: p.Generation}
	lines := map[line]int{}
	for i, shape := range p.Spec.Template.Shapes {
		g := GoodOf(shape)
		of := line{g.Labels, g.Extra}
		if _, known := lines[of]; !known {
			lines[of] = len(lines)
			t.Lines = append(t.Lines, i)
		}
		g.Line = lines[of]
		t.Goods, t.ByCost = append(t.Goods, g), append(t.ByCost, i)
	}
	slices.SortStableFunc(t.ByCost, func(a, b int) int { return cmp.Compare(t.Goods[a].Cost, t.Goods[b].Cost) })
	return t
}

// line is the shapes of a pool that differ in size only.
type line struct {
	labels string
	extra  bool
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

// Good is what a shape says of its machines, in numbers.
type Good struct {
	Machine amount.Resources
	// Cost of the machine for one hour, as package policy counts it.
	Cost float64
	// Extra says that the machine has extended resources.
	Extra bool
	// Labels is the same text for shapes whose machines carry the same labels.
	Labels string
	// Line counts the pool's lines of shapes from 0.
	Line int
}

// GoodOf reads a shape.
func GoodOf(shape v1alpha1.Shape) *Good {
	g := &Good{Machine: amount.Of(shape.Resources), Cost: policy.Cost(shape)}
	if _, said := shape.Resources[corev1.ResourcePods]; !said {
		g.Machine.Pods = DefaultPods
	}
	for name := range g.Machine.Scalar {
		g.Extra = g.Extra || strings.Contains(string(name), "/")
	}
	for _, name := range slices.Sorted(maps.Keys(shape.Labels)) {
		g.Labels += name + "=" + shape.Labels[name] + ","
	}
	return g
}

// NoSlot makes a name that no machine has: what depends on a node's name is judged again once the slot is chosen.
const NoSlot = -1
