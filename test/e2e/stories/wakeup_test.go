package stories

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// wakeUp is how long a pod that fits may stay pending in a quiet cluster.
const wakeUp = 2 * time.Second

// TestWokenWhenAHoldIsReleased: a pod that waits for its volume holds the last room and is deleted. The scheduler has
// no event for that room: it was never taken.
func TestWokenWhenAHoldIsReleased(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Node("only", stage.Resources("cpu", "2", "memory", "4Gi"))
	s.Place(stage.ReplicaOptions{})
	holder := s.Create(s.Pod("holder", stage.Resources("cpu", "1500m"), s.SlowVolume("never").Mounted))[0]
	s.Await(soon, "the holder to have a node in view", func() error { return s.Nominated(holder) })
	sleeper := s.Create(s.Pod("sleeper", stage.Resources("cpu", "1")))[0]
	quiet(s, sleeper)

	begin := time.Now()
	s.Delete(holder)
	bound := s.AwaitBoundSince(soon, begin, sleeper)
	t.Logf("bound %s after the hold was released", bound.Round(time.Millisecond))
	require.LessOrEqual(t, bound, wakeUp)
}

// TestWokenWhenANodeIsReopened: a node is being released, the release is withdrawn, and a pod that was refused there
// takes its room.
func TestWokenWhenANodeIsReopened(t *testing.T) {
	s := stage.New(t, kit)
	s.Backend()
	s.Apply(stage.Pool("one", 1, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}))
	s.Place(stage.ReplicaOptions{})
	s.AwaitRunning(soon, s.Create(s.Pod("resident", stage.Resources("cpu", "1")))...)
	s.AwaitClaims(soon, "one", 1, v1alpha1.ClaimReady)
	s.ChangeClaim("one-000", func(c *v1alpha1.NodeClaim) {
		c.Spec.Release = &v1alpha1.Release{Reason: "Maintenance", Since: metav1.NowMicro()}
	})
	claim := s.AwaitClaims(soon, "one", 1, v1alpha1.ClaimDraining)[0]
	sleeper := s.Create(s.Pod("sleeper", stage.Resources("cpu", "1")))[0]
	quiet(s, sleeper)

	begin := time.Now()
	s.ChangeClaim("one-000", func(c *v1alpha1.NodeClaim) { c.Spec.Release = nil })
	bound := s.AwaitBoundSince(soon, begin, sleeper)
	t.Logf("bound %s after the release was withdrawn", bound.Round(time.Millisecond))
	require.LessOrEqual(t, bound, wakeUp)
	got, err := s.Get(sleeper)
	require.NoError(t, err)
	require.Equal(t, claim.Status.NodeName, got.Spec.NodeName)
	require.Empty(t, s.NodeOf(got).Spec.Taints)
	s.WholeAndPaired()
}

// quiet waits until the pod was refused and the cluster has had nothing to say about it for longer than its back-off:
// from here on only Muster can wake it.
func quiet(s *stage.Stage, p *corev1.Pod) {
	s.T.Helper()
	s.Hold(soon, "the pod to be refused", func() error { return s.Unbound(p) },
		func() error { return s.SchedulerSays(p, "nodes are available") })
	silence := time.Now()
	s.Hold(soon, "ten seconds of silence", func() error { return s.Unbound(p) }, func() error {
		if time.Since(silence) < 10*time.Second {
			return errNotYet
		}
		return nil
	})
}
