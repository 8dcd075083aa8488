package housekeeping_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// node was last heard of so long ago; 0 means that it is Ready.
func node(silent time.Duration, annotations map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: annotations}}
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	if silent > 0 {
		c.Status, c.LastTransitionTime = corev1.ConditionUnknown, metav1.NewTime(start.Add(-silent))
	}
	n.Status.Conditions = []corev1.NodeCondition{c}
	return n
}

func fenced(n *corev1.Node) *corev1.Node {
	return lifecycle.FenceNode(n, machine("1", "a", own), "px")
}

func TestWhatIsDoneAboutAnOrphan(t *testing.T) {
	pods := []lifecycle.PodOnNode{{Name: "p"}}
	keep := map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}
	for name, c := range map[string]struct {
		nodes []*corev1.Node
		pods  []lifecycle.PodOnNode
		want  housekeeping.Standing
	}{
		"it never had a node":              {nil, nil, housekeeping.Remove},
		"its node takes pods":              {[]*corev1.Node{node(0, nil)}, nil, housekeeping.Fence},
		"its node takes pods and has some": {[]*corev1.Node{node(0, nil)}, pods, housekeeping.Fence},
		"one of two nodes takes pods":      {[]*corev1.Node{fenced(node(0, nil)), node(0, nil)}, nil, housekeeping.Fence},
		"its closed node runs pods":        {[]*corev1.Node{fenced(node(0, nil))}, pods, housekeeping.Busy},
		"a silent node has pods":           {[]*corev1.Node{fenced(node(time.Hour, nil))}, pods, housekeeping.Busy},
		"pods name a node that is no more": {nil, pods, housekeeping.Busy},
		"its closed node is empty":         {[]*corev1.Node{fenced(node(0, nil))}, nil, housekeeping.Remove},
		"somebody wants it kept":           {[]*corev1.Node{fenced(node(0, keep))}, nil, housekeeping.Protected},
	} {
		t.Run(name, func(t *testing.T) {
			o := housekeeping.Orphan{Machine: machine("1", "a", own), Standing: housekeeping.Orphaned}
			require.Equal(t, c.want, housekeeping.Deal(housekeeping.Scene{Orphan: o, Nodes: c.nodes, Pods: c.pods}))
			for _, s := range []housekeeping.Standing{housekeeping.Suspected, housekeeping.Unidentified} {
				o.Standing = s
				require.Equal(t, s, housekeeping.Deal(housekeeping.Scene{Orphan: o, Nodes: c.nodes, Pods: c.pods}), "is only looked at")
			}
		})
	}
}

func TestAFenceSaysForWhomItIsAndIsUndoneAsAReleaseIs(t *testing.T) {
	n := node(0, nil)
	f := fenced(n)
	require.True(t, housekeeping.Fenced(f))
	require.False(t, housekeeping.Fenced(n))
	require.EqualValues(t, "a", housekeeping.ClaimOf(f))
	require.Empty(t, lifecycle.OpenNode(f).Spec.Taints)
	require.False(t, lifecycle.OpenNode(f).Spec.Unschedulable)
	registered := node(0, map[string]string{v1alpha1.RegisteredAnnotation: "an older claim"})
	require.EqualValues(t, "an older claim", housekeeping.ClaimOf(fenced(registered)))
}

// silentSince is a node that says of itself since when it is silent.
func silentSince(at time.Time, annotations map[string]string) *corev1.Node {
	n := node(time.Hour, annotations)
	n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at)
	return n
}

func TestStrayNodes(t *testing.T) {
	ours := map[string]string{v1alpha1.RegisteredAnnotation: "a"}
	keep := map[string]string{v1alpha1.RegisteredAnnotation: "a", v1alpha1.ScaleDownDisabledAnnotation: "true"}
	for name, c := range map[string]struct {
		stray housekeeping.StrayNode
		want  housekeeping.Verdict
	}{
		"silent, its machine proven gone":            {housekeeping.StrayNode{Node: node(time.Hour, ours), Pods: 3, Gone: true}, housekeeping.Delete},
		"silent for a moment":                        {housekeeping.StrayNode{Node: node(housekeeping.StrayAge-1, ours), Gone: true}, housekeeping.Fresh},
		"silent, its machine not proven gone":        {housekeeping.StrayNode{Node: node(time.Hour, ours)}, housekeeping.Unproven},
		"ready, its machine gone: somebody is wrong": {housekeeping.StrayNode{Node: node(0, ours), Gone: true}, housekeeping.Alive},
		"ready, fenced and empty":                    {housekeeping.StrayNode{Node: fenced(node(0, ours)), Gone: true}, housekeeping.Delete},
		"ready, fenced, pods run":                    {housekeeping.StrayNode{Node: fenced(node(0, ours)), Pods: 1, Gone: true}, housekeeping.InUse},
		"never was ours":                             {housekeeping.StrayNode{Node: node(time.Hour, nil), Gone: true}, housekeeping.NotOurs},
		"somebody wants it kept":                     {housekeeping.StrayNode{Node: node(time.Hour, keep), Gone: true}, housekeeping.Preserved},
		"M19: seen silent for a moment, whatever its own clock says": {
			housekeeping.StrayNode{Node: node(10*365*24*time.Hour, ours), Gone: true, Silent: start.Add(1 - housekeeping.StrayAge)}, housekeeping.Fresh},
		"M19: seen silent for long, and its own clock is ahead": {
			housekeeping.StrayNode{Node: silentSince(start.Add(time.Hour), ours), Gone: true, Silent: start.Add(-housekeeping.StrayAge)}, housekeeping.Delete},
		"fenced, its machine not proven gone": {housekeeping.StrayNode{Node: fenced(node(0, ours))}, housekeeping.Unproven},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, housekeeping.JudgeStray(c.stray, start)) })
	}
}
