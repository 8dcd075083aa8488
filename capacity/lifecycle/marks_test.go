package lifecycle_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// updated is the Node that a step asks for.
func updated(t *testing.T, s *scene) (*corev1.Node, lifecycle.Result) {
	t.Helper()
	r := lifecycle.Step(s.claim, s.seen, s.now)
	require.NoError(t, r.Err)
	for _, e := range r.Effects {
		if u, ok := e.(lifecycle.UpdateNode); ok {
			require.Same(t, s.seen.Node, u.Old)
			return u.New, r
		}
	}
	require.Fail(t, "no update", "%v", r.Effects)
	return nil, r
}

func TestANodeIsMarkedWhenItRegisters(t *testing.T) {
	s := in(joining)
	s.claim.Spec.Annotations = map[string]string{"where": "{{.Zone}}/{{.Rack}}/{{.Host}}/{{.Machine}}/{{.Provider}}"}
	s.claim.Spec.Labels["plain"] = "value"
	s.claim.Status.Zone, s.claim.Status.Rack = "z1", "r1"
	s.node()
	s.seen.Node.Annotations, s.seen.Node.Spec.Taints = nil, nil
	n, _ := updated(t, s)
	require.Equal(t, map[string]string{corev1.LabelHostname: "n", v1alpha1.PoolLabel: "std", v1alpha1.ClaimLabel: "std-000",
		v1alpha1.ShapeLabel: "m", "rack": "h1", "plain": "value"}, n.Labels)
	require.Equal(t, "z1/r1/h1/vm-1/px", n.Annotations["where"])
	require.Equal(t, []corev1.Taint{
		{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule},
		{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule},
		{Key: "cni", Effect: corev1.TaintEffectNoExecute},
	}, n.Spec.Taints)
}

func TestStartupTaintsArePutOnOnce(t *testing.T) {
	s := in(joining)
	s.node()
	s.seen.Node.Annotations = nil
	n, r := updated(t, s)
	require.Len(t, n.Spec.Taints, 3)
	n.Spec.Taints = n.Spec.Taints[:2] // the CNI took its own off
	s.claim, s.seen.Node = r.Claim, n
	n, _ = updated(t, s)
	require.Equal(t, []corev1.Taint{s.claim.Spec.Taints[0]}, n.Spec.Taints, "and the node is open")
}

func TestTaintsThatTheKubeletPutOnAreNotDoubled(t *testing.T) {
	s := in(joining)
	s.node()
	s.seen.Node.Annotations = nil
	s.seen.Node.Spec.Taints = append(s.seen.Node.Spec.Taints, s.claim.Spec.StartupTaints...)
	n, _ := updated(t, s)
	require.Len(t, n.Spec.Taints, 3)
}

func TestATemplateThatCannotBeUsedIsLeftOutAndNamed(t *testing.T) {
	for name, value := range map[string]string{
		"an unknown field": "{{.Row}}",
		"a broken one":     "{{.Host",
		"no label value":   "{{.Host}}/x y",
		"too long a value": strings.Repeat("x", 64),
	} {
		t.Run(name, func(t *testing.T) {
			s := in(joining)
			s.claim.Spec.Labels = map[string]string{"bad": value, "good": "{{.Host}}"}
			s.node()
			s.seen.Node.Annotations = nil
			n, r := updated(t, s)
			require.NotContains(t, n.Labels, "bad")
			require.Equal(t, "h1", n.Labels["good"])
			c := meta.FindStatusCondition(r.Claim.Status.Conditions, v1alpha1.ConditionRegistered)
			require.Equal(t, lifecycle.ReasonTemplateError, c.Reason)
			require.Contains(t, c.Message, "label bad:")
		})
	}
}

func TestACordonOfSomebodyElseStays(t *testing.T) {
	s := in(isReady)
	s.seen.Node.Spec.Unschedulable = true
	s.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle"}
	n, r := updated(t, s)
	require.NotContains(t, n.Annotations, v1alpha1.CordonedAnnotation)
	s.claim, s.seen.Node = r.Claim, n
	s.claim.Spec.Release = nil
	kubernetes := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	n.Spec.Taints = append(n.Spec.Taints, kubernetes)
	n, _ = updated(t, s)
	require.True(t, n.Spec.Unschedulable)
	require.Equal(t, []corev1.Taint{s.claim.Spec.Taints[0], kubernetes}, n.Spec.Taints)
}

func TestOurCordonIsUndoneExactly(t *testing.T) {
	s := in(isReady)
	open := s.seen.Node.DeepCopy()
	s.claim.Spec.Release = &v1alpha1.Release{Reason: "Idle"}
	n, r := updated(t, s)
	require.True(t, n.Spec.Unschedulable)
	require.Equal(t, "true", n.Annotations[v1alpha1.CordonedAnnotation])
	require.Contains(t, n.Spec.Taints, corev1.Taint{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule})
	s.claim, s.seen.Node = r.Claim, n
	s.claim.Spec.Release = nil
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	n, _ = updated(t, s)
	require.Equal(t, open, n, "and the taint that kube-controller-manager put on for it")
}
