package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestRoomIsSetAsideForDaemonPodsUntilTheyAreThere(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"))
	s.SetDaemonSet(object.DaemonSet("agent", "cpu", "1"))
	require.Equal(t, amount.Resources{MilliCPU: 1000, Pods: 1}, s.node("n").Daemons)
	require.NotNil(t, s.place(object.Pod("p", "cpu", "4"), "n").Refused)
	require.Equal(t, "n", s.place(object.Pod("q", "cpu", "3"), "n").Node)

	agent := object.Owned(object.Pod("agent-x", "cpu", "1"), "DaemonSet", "agent")
	s.pods(object.Bound(agent, "n"))
	require.True(t, s.node("n").Daemons.IsZero(), "counted once, where it is")
	require.Equal(t, int64(0), s.node("n").Free().MilliCPU)

	s.ForgetPod(agent.UID)
	require.Equal(t, int64(1000), s.node("n").Daemons.MilliCPU, "another will come in its place")
	failed := object.Bound(agent, "n")
	failed.Status.Phase = corev1.PodFailed
	s.pods(failed)
	require.Equal(t, int64(1000), s.node("n").Daemons.MilliCPU)

	s.SetDaemonSet(object.DaemonSet("agent", "cpu", "2"))
	require.Equal(t, int64(2000), s.node("n").Daemons.MilliCPU, "a rollout that asks for more")
	s.nodes(object.Node("m", "cpu", "4"))
	require.Equal(t, int64(2000), s.node("m").Daemons.MilliCPU, "on a node that came later too")
	s.ForgetDaemonSet("agent")
	require.True(t, s.node("n").Daemons.IsZero())
}

func TestWhichNodesADaemonSetMatches(t *testing.T) {
	plain := object.Node("n", "cpu", "4")
	cordoned := plain.DeepCopy()
	cordoned.Spec.Unschedulable = true
	with := func(key string, effect corev1.TaintEffect) *corev1.Node { return object.Tainted(plain, key, effect) }
	selecting := object.DaemonSet("d", "cpu", "1")
	selecting.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
	pinned := object.DaemonSet("d", "cpu", "1")
	pinned.Spec.Template.Spec.NodeName = "elsewhere"
	tolerant := object.DaemonSet("d", "cpu", "1")
	tolerant.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpExists}}
	for name, c := range map[string]struct {
		node *corev1.Node
		want bool
	}{
		"a plain node":                   {plain, true},
		"a cordoned node":                {cordoned, true},
		"a node that starts":             {with(v1alpha1.StartingTaint, corev1.TaintEffectNoSchedule), true},
		"a node not ready yet":           {with(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule), true},
		"a node without a network yet":   {with(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule), true},
		"a node that is not initialized": {with("node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintEffectNoSchedule), true},
		"a node of another team":         {with("team", corev1.TaintEffectNoSchedule), false},
		"a node that throws pods out":    {with("team", corev1.TaintEffectNoExecute), false},
		"a node to be avoided":           {with("team", corev1.TaintEffectPreferNoSchedule), true},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{Name: "n", Object: c.node}
			require.Equal(t, c.want, NewDaemon(object.DaemonSet("d", "cpu", "1")).Matches(n))
			require.True(t, NewDaemon(tolerant).Matches(n))
			require.False(t, NewDaemon(selecting).Matches(n))
			require.False(t, NewDaemon(pinned).Matches(n))
		})
	}
}

func TestTheTaintsOfAStartAreNoReasonAgainstDaemonPods(t *testing.T) {
	s := newScene()
	s.SetDaemonSet(object.DaemonSet("agent", "cpu", "1"))
	n := object.Tainted(object.Node("n", "cpu", "4"), "net-down", corev1.TaintEffectNoSchedule)
	s.nodes(n)
	require.True(t, s.node("n").Daemons.IsZero(), "a taint that nobody takes off")
	claim := object.InState(object.Claim("a", "n"), v1alpha1.ClaimStarting)
	claim.Spec.StartupTaints = []corev1.Taint{{Key: "net-down", Effect: corev1.TaintEffectNoSchedule}}
	s.SetClaim(claim)
	require.Equal(t, int64(1000), s.node("n").Daemons.MilliCPU)

	claim.Spec.StartupTaints[0].Effect = corev1.TaintEffectNoExecute
	s.SetClaim(claim.DeepCopy())
	require.True(t, s.node("n").Daemons.IsZero(), "a taint of another effect is another taint")
}

func TestAClaimInFlightSetsAsideRoomForDaemonPods(t *testing.T) {
	s := newScene()
	s.SetDaemonSet(object.DaemonSet("agent", "cpu", "1"))
	claim := object.InState(object.Claim("a", ""), v1alpha1.ClaimLaunching)
	claim.Spec.Overhead = object.Amounts("cpu", "500m")
	claim.Spec.Labels = map[string]string{"zone": "a", "host": "{{ .Host }}"}
	s.SetClaim(claim)
	n := s.View().Claims[0].Node
	require.Equal(t, int64(2500), n.Free().MilliCPU)
	require.Equal(t, Starting, n.Stage)
	require.Equal(t, "a", n.Object.Labels["zone"])
	require.NotContains(t, n.Object.Labels, "host", "a templated value promises nothing")

	registered := object.Tainted(object.Node("n", "cpu", "3900m", "memory", "7Gi"), v1alpha1.StartingTaint, corev1.TaintEffectNoSchedule)
	joined := object.InState(claim, v1alpha1.ClaimStarting)
	joined.Status.NodeName = "n"
	joined.Spec.Resources["example.com/gpu"] = object.Amounts("x", "2")["x"]
	s.nodes(registered)
	s.SetClaim(joined)
	n = s.View().Claims[0].Node
	require.Equal(t, int64(2900), n.Free().MilliCPU, "what the kubelet says, not what was promised")
	require.Equal(t, int64(2), n.Allocatable.Scalar["example.com/gpu"], "a device plugin comes later")
	require.Empty(t, n.Object.Spec.Taints, "as it will be after its start")
	require.NotEmpty(t, s.node("n").Object.Spec.Taints)

	blank := registered.DeepCopy()
	blank.Status.Allocatable = nil
	s.nodes(blank)
	require.Equal(t, int64(2500), s.View().Claims[0].Node.Free().MilliCPU, "a node that has said nothing yet")
}
