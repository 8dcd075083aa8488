package stories

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestMusterKilledAtTenRandomMomentsOfAScaleUp: each time three pods more need a machine each, and the pool has not one
// slot to spare. Some of the backend's answers are lost as well.
func TestMusterKilledAtTenRandomMomentsOfAScaleUp(t *testing.T) {
	const waves, each = 10, 3
	s := stage.New(t, kit)
	s.Backend("--lose=20")
	s.Apply(stage.Pool("tight", waves*each, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}))
	s.Node("small", stage.Resources("cpu", "1", "memory", "4Gi"))
	replica := s.Place(stage.ReplicaOptions{})

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var all []*corev1.Pod
	for wave := range waves {
		var pods []*corev1.Pod
		for i := range each {
			pods = append(pods, s.Pod(fmt.Sprintf("wave-%d-%d", wave, i), stage.Resources("cpu", "1500m")))
		}
		all = append(all, s.Create(pods...)...)
		moment := time.Duration(random.Int64N(int64(6 * time.Second)))
		<-time.After(moment) // the random moment is the story itself
		replica.Crash()
		t.Logf("wave %d: killed after %s, all pods ran %s later", wave, moment.Round(time.Millisecond),
			s.AwaitRunning(2*time.Minute, all...).Round(time.Millisecond))
	}
	s.WholeAndPaired()
	require.Len(t, s.MustClaims("tight"), waves*each)
	require.Len(t, s.Machines(), waves*each, "no machine was ever made in vain")
}
