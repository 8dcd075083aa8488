package planner

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// onSale names the shapes that a plan looks at.
func onSale(w *world) []string {
	var names []string
	for _, b := range newPlanner(w.view(0, object.Start), object.Start).market.vendors[0].fixed {
		names = append(names, b.shape.Name)
	}
	return names
}

func TestNoMachineIsLookedAtThatIsDearerThanOneForAllPods(t *testing.T) {
	upToFour := []string{"c1", "c2", "c3", "c4"}
	nine := append(append([]string{}, upToFour...), "c5", "c6", "c7", "c8", "c9")
	for name, c := range map[string]struct {
		change func(w *world, pool *v1alpha1.NodePool)
		want   []string
	}{
		"four cores carry three and a half": {func(*world, *v1alpha1.NodePool) {}, upToFour},
		"DaemonSets come on top": {func(w *world, _ *v1alpha1.NodePool) {
			w.daemons = append(w.daemons, object.DaemonSet("agent", "cpu", "600m"))
		}, append(append([]string{}, upToFour...), "c5")},
		"a pod too large for any machine": {func(w *world, _ *v1alpha1.NodePool) { w.pending("huge", 1, "cpu", "20") }, nine},
		"a pod may pick a larger one": {func(w *world, _ *v1alpha1.NodePool) {
			w.pending("picky", 1)[0].Spec.NodeSelector = map[string]string{v1alpha1.ShapeLabel: "c9"}
		}, nine},
		"a limit may leave room for a dearer one only": {func(_ *world, pool *v1alpha1.NodePool) {
			pool.Spec.Limits.Resources = corev1.ResourceList{"memory": resource.MustParse("64Gi")}
		}, nine},
		"what has a GPU is no better than what has none": {func(_ *world, pool *v1alpha1.NodePool) {
			pool.Spec.Template.Shapes[2].Resources["example.com/gpu"] = resource.MustParse("1")
			pool.Spec.Template.Shapes[8].Resources["example.com/gpu"] = resource.MustParse("1")
		}, []string{"c1", "c2", "c3", "c4", "c9"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := tightWorld()
			w.pending("pod", 7, "cpu", "500m")
			c.change(w, w.pools[0])
			require.Equal(t, c.want, onSale(w))
		})
	}
}

// The cheapest need not be the smallest, and the order of the shapes says nothing.
func TestTheCeilingIsTheCheapest(t *testing.T) {
	pool := object.Pool("pool", 10,
		priced(object.Shape("huge", "cpu", "32", "memory", "64Gi"), "9"),
		priced(object.Shape("sale", "cpu", "16", "memory", "64Gi"), "2"),
		priced(object.Shape("plain", "cpu", "4", "memory", "64Gi"), "3"),
		priced(object.Shape("small", "cpu", "1", "memory", "64Gi"), "1"))
	w := newWorld(pool)
	w.pending("pod", 3, "cpu", "1")
	require.Equal(t, []string{"sale", "small"}, onSale(w))
	plan := w.plan()
	require.Len(t, plan.Creates, 1)
	require.Equal(t, "sale", plan.Creates[0].Claim.Spec.Shape)
}
