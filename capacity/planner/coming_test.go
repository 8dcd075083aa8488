package planner

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// A node registers a moment before Muster labels it. A plan made in between must not take it for a node without the
// labels that the pod was promised, or it buys a second machine.
func TestPlanCountsANodeThatHasRegisteredAndIsNotLabelledYet(t *testing.T) {
	pool := object.Pool("fast", 2, object.Shape("m", "cpu", "4", "memory", "8Gi"))
	pool.Spec.Template.Labels = map[string]string{"disk": "fast"}
	pool.Spec.Template.Taints = []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}}
	w := newWorld(pool)
	pod := w.pending("web", 1, "cpu", "1")[0]
	pod.Spec.NodeSelector = map[string]string{"disk": "fast"}
	pod.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	stranger := w.pending("stranger", 1, "cpu", "1")[0]
	w.apply(w.plan(), object.Start)
	require.Len(t, w.claims, 1)

	claim := w.claims[0]
	claim.Status.State, claim.Status.ProviderID = v1alpha1.ClaimJoining, "sim://1"
	node := object.Node("fast-000", "cpu", "4", "memory", "8Gi", "pods", "110")
	node.Spec.ProviderID = "sim://1"
	node.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	w.nodes = append(w.nodes, node)

	plan := w.plan()
	require.Empty(t, plan.Creates)
	require.Equal(t, capacity.Outcome{Fate: capacity.Waits, Claim: "fast-000"}, plan.Outcomes[pod.UID])
	require.Equal(t, capacity.Unserved, plan.Outcomes[stranger.UID].Fate, "the pool's taint counts before it is on the node")
}

// A machine that did not come up is made anew for the same claim, and its pods wait for that: not for a second one.
func TestNothingIsBoughtBesideAMachineThatIsMadeAnew(t *testing.T) {
	w := newWorld(object.Pool("p", 9, object.Shape("m", "cpu", "4", "memory", "8Gi")))
	pod := w.pending("web", 1, "cpu", "3")[0]
	w.apply(w.plan(), object.Start)
	require.Len(t, w.claims, 1)
	late := object.Node("somewhere", "cpu", "4", "memory", "8Gi", "pods", "110") // it registered too late
	late.Spec.ProviderID, w.claims[0].Status.ProviderID = "sim://1", "sim://1"
	w.nodes = append(w.nodes, late)

	w.claims[0] = object.GivenBack(w.claims[0], 1)
	plan := w.plan()
	require.Empty(t, plan.Creates)
	require.Equal(t, capacity.Outcome{Fate: capacity.Waits, Claim: "p-000"}, plan.Outcomes[pod.UID])

	w.claims[0].Status.Conditions[0].Reason = "MachineStays"
	require.Len(t, w.plan().Creates, 1, "a machine that does not go holds nobody up")
}

// A claim that may launch no machine more is a failure of its pool before its last one is gone.
func TestNothingIsBoughtWhereAClaimIsAboutToFail(t *testing.T) {
	w := newWorld(object.Pool("p", 9, object.Shape("m", "cpu", "4", "memory", "8Gi")))
	pod := w.pending("web", 1, "cpu", "3")[0]
	w.apply(w.plan(), object.Start)
	w.claims[0] = object.GivenBack(w.claims[0], 3)
	plan := w.plan()
	require.Empty(t, plan.Creates)
	require.Equal(t, capacity.Reason{Code: capacity.CodePoolBackoff, Detail: "RegistrationTimeout"}, plan.Outcomes[pod.UID].Reason)
}
