package shadow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// change is another version of the pool.
func (w *world) change(edit func(*v1alpha1.NodePool)) {
	w.pool = w.pool.DeepCopy()
	w.pool.Generation++
	edit(w.pool)
	w.live.SetPool(w.pool)
}

func TestADriftedNodeWouldBeReplaced(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"p-000", "p-001"} {
		w.node(name)
		w.pod("on-"+name, "3", name)
	}
	require.Empty(t, w.pass(time.Minute).Replacements)
	w.change(func(p *v1alpha1.NodePool) {
		p.Spec.ScaleDown.ReplaceDrifted, p.Spec.Template.Labels = true, map[string]string{"generation": "two"}
	})
	began := w.now
	r := w.pass(time.Minute)
	for range 15 { // also between the reaper's looks
		r = w.pass(time.Second)
		require.Len(t, r.Replacements, 1)
	}
	one := r.Replacements[0]
	require.Equal(t, []string{"p-000"}, one.Nodes)
	require.Equal(t, []string{"m"}, one.Shapes)
	require.Equal(t, "Drifted", one.Reason)
	require.Equal(t, "labels", one.Message)
	require.Less(t, one.Since.Sub(began), 10*time.Second, "since it was first so")
	require.Equal(t, 1, r.InTurn)
	require.Empty(t, r.Machines, "it is not bought on paper")
	var text strings.Builder
	require.NoError(t, r.WriteText(&text))
	require.Contains(t, text.String(), "Replacements that would be next: 1, and 1 nodes in turn")
	w.change(func(p *v1alpha1.NodePool) { p.Spec.Template.Labels = nil })
	require.Empty(t, w.pass(time.Minute).Replacements, "the template is as it was")
}

func TestNodesWouldBeReplacedByACheaperMachineUntilOneIsGone(t *testing.T) {
	w := newWorld(t)
	w.change(func(p *v1alpha1.NodePool) {
		price := resource.MustParse("0.60")
		p.Spec.ScaleDown.UnderusedAfter, p.Spec.ScaleDown.SavingThreshold = &metav1.Duration{Duration: time.Minute}, 20
		p.Spec.ScaleDown.Budgets = []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(3)}}
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, v1alpha1.Shape{Name: "l", Resources: resources("16", "64Gi"), Price: &price})
	})
	for _, name := range []string{"p-000", "p-001", "p-002"} {
		w.node(name)
		w.pod("on-"+name, "3", name)
	}
	r := w.pass(10 * time.Minute)
	require.Len(t, r.Replacements, 1)
	one := r.Replacements[0]
	require.Equal(t, []string{"l"}, one.Shapes)
	require.Equal(t, "Consolidated", one.Reason)
	require.InDelta(t, 0.60, one.Cost, 1e-9)
	require.InDelta(t, 0.50*float64(len(one.Nodes)), one.Before, 1e-9)
	require.Greater(t, len(one.Nodes), 1)
	w.live.ForgetNode(one.Nodes[0])
	require.NotContains(t, w.pass(time.Second).Replacements, one)
}
