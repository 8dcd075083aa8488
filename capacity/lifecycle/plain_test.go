package lifecycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

func TestAPlainNodeHasNoMarkOfItsClaimAndKeepsWhatPodsSelectBy(t *testing.T) {
	s := in(v1alpha1.ClaimDraining)
	node := s.seen.Node
	team := s.claim.Spec.Taints[0]
	node.Labels = map[string]string{v1alpha1.PoolLabel: "std", v1alpha1.ClaimLabel: "std-000", v1alpha1.ShapeLabel: "m", "rack": "r1"}
	node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	before := node.DeepCopy()
	require.True(t, lifecycle.Marked(node))

	plain := lifecycle.PlainNode(node)
	require.Equal(t, before, node, "the argument is not changed")
	require.False(t, lifecycle.Marked(plain))
	require.Equal(t, []corev1.Taint{team}, plain.Spec.Taints)
	require.False(t, plain.Spec.Unschedulable)
	require.Equal(t, map[string]string{v1alpha1.PoolLabel: "std", v1alpha1.ShapeLabel: "m", "rack": "r1"}, plain.Labels)
	require.Equal(t, map[string]string{v1alpha1.DoNotReleaseAnnotation: "true"}, plain.Annotations)
	require.Equal(t, plain, lifecycle.PlainNode(plain))
}

func TestAPlainNodeKeepsACordonThatIsNotOurs(t *testing.T) {
	node := newNode("n", "px://1")
	node.Spec.Unschedulable = true
	node.Spec.Taints = []corev1.Taint{{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule}}
	plain := lifecycle.PlainNode(node)
	require.True(t, plain.Spec.Unschedulable)
	require.Empty(t, plain.Spec.Taints)
}

func TestEachMarkOfOursIsSeen(t *testing.T) {
	for name, mark := range map[string]func(*corev1.Node){
		"claim":    func(n *corev1.Node) { n.Labels = map[string]string{v1alpha1.ClaimLabel: ""} },
		"register": func(n *corev1.Node) { n.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: "uid"} },
		"cordon":   func(n *corev1.Node) { n.Annotations = map[string]string{v1alpha1.CordonedAnnotation: "true"} },
		"starting": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule}}
		},
		"releasing": func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule}}
		},
	} {
		n := newNode("n", "px://1")
		require.False(t, lifecycle.Marked(n))
		mark(n)
		require.True(t, lifecycle.Marked(n), name)
		require.False(t, lifecycle.Marked(lifecycle.PlainNode(n)), name)
	}
}
