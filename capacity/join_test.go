package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// A node registers a moment before Muster labels it. A plan made in between must not take it for a node without the
// labels that the pod was promised, or it buys a second machine.
func TestPlanCountsANodeThatHasRegisteredAndIsNotLabelledYet(t *testing.T) {
	pool := makePool("fast", 2, makeShape("m", "cpu", "4", "memory", "8Gi"))
	pool.Spec.Template.Labels = map[string]string{"disk": "fast"}
	pool.Spec.Template.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	w := newWorld(pool)
	pod := w.pending("web", 1, "cpu", "1")[0]
	pod.Spec.NodeSelector = map[string]string{"disk": "fast"}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	stranger := w.pending("stranger", 1, "cpu", "1")[0]
	w.apply(w.plan(), start)
	require.Len(t, w.claims, 1)

	claim := w.claims[0]
	claim.Status.State, claim.Status.ProviderID = v1alpha1.ClaimJoining, "sim://1"
	node := makeNode("fast-000", "cpu", "4", "memory", "8Gi", "pods", "110")
	node.Spec.ProviderID = "sim://1"
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	w.nodes = append(w.nodes, node)

	plan := w.plan()
	require.Empty(t, plan.Creates)
	require.Equal(t, Outcome{Fate: Waits, Claim: "fast-000"}, plan.Outcomes[pod.UID])
	require.Equal(t, Unserved, plan.Outcomes[stranger.UID].Fate, "the pool's taint counts before it is on the node")
}
