package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
)

// Drift compares claims with what their pool's template would make now. A claim carries all that its machine was made from,
// so it is compared itself: no hash is kept of it, which a Muster that knows one field more would find changed everywhere.
type Drift struct{ mould *Mould }

// NewDrift compares with the template of a pool.
func NewDrift(pool *v1alpha1.NodePool) Drift { return Drift{NewMould(pool)} }

// Of names what is not as the template has it, for example "taints"; empty when nothing is. What is no property of a
// running machine does not count: prices, overheads, startup taints, which hosts may be chosen, how often a launch is tried.
func (d Drift) Of(c *v1alpha1.NodeClaim) string {
	now := d.mould.now(c)
	switch {
	case d.mould.pool.Spec.Provider != c.Spec.Provider:
		return "provider"
	case now == nil, !d.sized(now, c):
		return "shape"
	case !maps.Equal(now.Labels, c.Spec.Labels):
		return "labels"
	case !maps.Equal(now.Annotations, c.Spec.Annotations):
		return "annotations"
	case !equality.Semantic.DeepEqual(sortedTaints(now.Taints), sortedTaints(c.Spec.Taints)):
		return "taints"
	case !equality.Semantic.DeepEqual(now.Proxmox, c.Spec.Proxmox):
		return "proxmox"
	}
	return ""
}

// sized says whether the machine is as large as the shape has it, or of a size between the bounds of the range.
func (d Drift) sized(now *v1alpha1.NodeClaimSpec, c *v1alpha1.NodeClaim) bool {
	r := d.mould.pool.Spec.Template.Range
	if r == nil {
		return amount.Same(now.Resources, c.Spec.Resources)
	}
	as := WithPods(r.Resources)
	as[corev1.ResourceCPU], as[corev1.ResourceMemory] = c.Spec.Resources[corev1.ResourceCPU], c.Spec.Resources[corev1.ResourceMemory]
	within := func(name corev1.ResourceName, of v1alpha1.QuantityRange) bool {
		has := c.Spec.Resources[name]
		return has.Cmp(of.Min) >= 0 && has.Cmp(of.Max) <= 0
	}
	return amount.Same(as, c.Spec.Resources) && within(corev1.ResourceCPU, r.CPU) && within(corev1.ResourceMemory, r.Memory)
}

func sortedTaints(taints []corev1.Taint) []corev1.Taint {
	sorted := slices.Clone(taints)
	slices.SortFunc(sorted, func(a, b corev1.Taint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(string(a.Effect), string(b.Effect)))
	})
	return sorted
}
