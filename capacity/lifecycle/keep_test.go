package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

func (s *scene) keep() {
	metav1.SetMetaDataAnnotation(&s.claim.ObjectMeta, v1alpha1.KeepNodeAnnotation, "true")
}

func (s *scene) annotated() {
	s.keep()
	metav1.SetMetaDataAnnotation(&s.seen.Node.ObjectMeta, v1alpha1.DoNotReleaseAnnotation, "true")
}

func TestANodeThatIsKept(t *testing.T) {
	plain := []string{"event NodeKept", "delete claim std-000", "remove finalizer of std-000"}
	runRows(t, []row{
		{"its node is annotated first", isReady, (*scene).keep, isReady, []string{"update node n"}, 15 * time.Second, "is being made a plain node"},
		{"then the claim goes, and the provider is not called", isReady, (*scene).annotated, isReady, plain, 0, "node n is a plain node now"},
		{"its pods stay", isReady, func(s *scene) { s.annotated(); s.pods(3) }, isReady, plain, 0, "plain node"},
		{"a claim that is deleted meanwhile drains nothing", isReady, func(s *scene) { s.annotated(); s.deleted(); s.pods(1) }, isReady,
			[]string{"event NodeKept", "remove finalizer of std-000"}, 0, "plain node"},
		{"a crash after the record", isReady, func(s *scene) {
			s.annotated()
			s.condition(v1alpha1.ConditionReleased, metav1.ConditionTrue, "NodeKept")
			s.deleted()
			s.noNode()
		}, isReady, []string{"remove finalizer of std-000"}, 0, ""},
		{"a machine that still has what it joined with gives it back first", isReady, func(s *scene) { s.annotated(); s.seeded(); s.seen.Asked = time.Time{} }, isReady,
			[]string{"take away what std-000 joined with"}, 3 * time.Second, ""},
		{"a node that another claim registered is not this one's to keep", isReady, func(s *scene) {
			s.annotated()
			s.seen.Node.Annotations[v1alpha1.RegisteredAnnotation] = "other"
		}, starting, []string{"update node n"}, 0, ""},
	})
}

// A node that was being drained is open again when its claim goes.
func TestAKeptNodeIsOpen(t *testing.T) {
	s := in(draining)
	s.claim.Spec.Release = nil
	s.keep()
	r := lifecycle.Step(s.claim, s.seen, s.now)
	require.Equal(t, []string{"update node n"}, effects(r))
	n := r.Effects[0].(lifecycle.UpdateNode).New
	require.False(t, n.Spec.Unschedulable)
	require.Equal(t, s.claim.Spec.Taints[:1], n.Spec.Taints)
	require.Equal(t, "true", n.Annotations[v1alpha1.DoNotReleaseAnnotation])
	require.NotContains(t, n.Annotations, v1alpha1.CordonedAnnotation)
	require.NotContains(t, n.Spec.Taints, corev1.Taint{Key: v1alpha1.ReleasingTaint, Effect: corev1.TaintEffectNoSchedule})
}

// What is being given back already is not kept.
func TestAMachineThatIsGivenBackIsNotKept(t *testing.T) {
	s := in(releasing)
	s.annotated()
	s.seen.Asked = time.Time{}
	require.Contains(t, effects(lifecycle.Step(s.claim, s.seen, s.now)), "delete machine vm-1")
}
