package stories

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// BenchmarkRelease measures how long the release of an idle node takes, from the write that asks for it until no claim is left, and
// which calls to the provider it takes. One node goes after the other.
func BenchmarkRelease(b *testing.B) {
	const machines, each = 20, 300 * time.Millisecond
	for b.Loop() {
		s := stage.NewUnwatched(b, kit)
		s.Backend("--boot-min=200ms", "--boot-median=300ms", "--boot-max=400ms", "--delete-time="+each.String())
		s.Apply(stage.Pool("bench", machines, []v1alpha1.Shape{stage.Shape("one-pod", "cpu", "2", "memory", "4Gi")}, func(p *v1alpha1.NodePool) {
			p.Spec.ScaleUp.RegistrationTimeout = &metav1.Duration{Duration: 10 * time.Minute}
		}))
		s.Place(stage.ReplicaOptions{})
		s.AwaitRunning(5*time.Minute, s.Create(onePodEach(s, "bench", machines)...)...)
		claims := s.AwaitClaims(soon, "bench", machines, v1alpha1.ClaimReady)
		s.DeletePods()
		var took []time.Duration
		var begun []time.Time
		for i, c := range claims {
			begun = append(begun, time.Now())
			release(s, c.Name)
			took = append(took, s.Await(soon, "the claim to be gone", func() error {
				left, err := s.Claims("bench")
				if err == nil && len(left) != machines-1-i {
					err = fmt.Errorf("there are %d claims", len(left))
				}
				return err
			}))
		}
		calls, err := s.Sim.Calls(s.Ctx)
		require.NoError(b, err)
		verbs := map[string]int{}
		for _, call := range calls {
			i := slices.IndexFunc(claims, func(c v1alpha1.NodeClaim) bool { return c.UID == call.ClaimUID })
			if i >= 0 && !call.At.Before(begun[i]) {
				verbs[call.Verb]++
			}
		}
		slices.Sort(took)
		b.ReportMetric(took[machines/2].Seconds(), "s-median")
		b.ReportMetric(took[machines-1].Seconds(), "s-most")
		for verb, n := range verbs {
			b.ReportMetric(float64(n)/machines, verb+"s/release")
		}
	}
}
