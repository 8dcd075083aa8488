package stories

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

// TestThreeWavesOfLoadComeAndGo: nodes follow the pods up and down, within the pool's budget at every write, and one spare node is
// kept beside the minimum's. At the end nothing else is left, nobody lost a pod, and no machine leaked.
func TestThreeWavesOfLoadComeAndGo(t *testing.T) {
	const waves, each, budget, spare = 3, 6, 3, 1
	s := stage.New(t, kit)
	s.Backend("--boot-min=200ms", "--boot-median=500ms", "--boot-max=1s", "--delete-time=300ms")
	s.Apply(stage.Pool("waves", each+2, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.Limits.MinNodes = 1
		p.Spec.Spare = new(intstr.FromInt32(spare))
		p.Spec.ScaleDown = v1alpha1.ScaleDown{
			IdleAfter: &metav1.Duration{Duration: 2 * time.Second},
			Budgets:   []v1alpha1.ReleaseBudget{{Nodes: intstr.FromInt32(budget)}},
		}
	}))
	c, err := client.NewWithWatch(s.Plane.Admin, client.Options{Scheme: s.Plane.Objects.Scheme()})
	require.NoError(t, err)
	releases := witness.WatchReleases(s.Ctx, c)
	s.Place(stage.ReplicaOptions{})
	s.AwaitClaims(soon, "waves", 1, v1alpha1.ClaimReady)
	for wave := range waves {
		pods := s.Create(onePodEach(s, fmt.Sprintf("wave-%d", wave), each)...)
		ran := s.AwaitRunning(soon, pods...)
		s.AwaitClaims(soon, "waves", each+spare, v1alpha1.ClaimReady)
		require.Empty(t, s.Diary.Deleted(), "no pod was lost in wave %d", wave)
		for _, p := range pods {
			releases.Ours(p.UID)
		}
		s.DeletePods()
		begin := time.Now()
		s.AwaitClaims(2*time.Minute, "waves", 1, v1alpha1.ClaimReady)
		t.Logf("wave %d: %d pods ran after %s, one node was left %s after they went", wave, each, ran.Round(100*time.Millisecond),
			time.Since(begin).Round(100*time.Millisecond))
		s.Diary.Forget()
	}
	s.WholeAndPaired()
	_, taken, carried, _ := releases.Counts()
	most := releases.MostClosed()
	found, err := releases.Verdict()
	require.NoError(t, err)
	t.Logf("%d releases carried out, %d taken back, at most %d at once", carried, taken, most)
	require.LessOrEqual(t, most, budget, "the pool's budget, at every write")
	require.Empty(t, found.Late)
	require.Empty(t, found.Killed)
}
