package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// TestKilledAtAnyMoment kills Muster at random moments of a scale-up and a scale-down, with everything that can go wrong
// at the backend going wrong now and then: the machines and the claims stay one to one, nothing is left behind, and no
// node is overbooked.
func TestKilledAtAnyMoment(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			slow := DefaultDelays()
			slow.Watch = time.Duration(1+r.IntN(400)) * time.Millisecond
			slow.Bind = time.Duration(1+r.IntN(4000)) * time.Millisecond
			w := newWorld(t, Options{
				Seed: int64(seed), Tail: 3 * time.Hour, Delays: &slow,
				Pools: []*v1alpha1.NodePool{poolOf("general", 15, shape("small", "4", "8Gi"), shape("large", "16", "32Gi"))},
				Providers: []*v1alpha1.Provider{simProvider(v1alpha1.Sim{
					Failures: v1alpha1.SimFailures{Create: 5, Lost: 10, NeverJoin: 5},
				})},
			}, append(burst(40, 0, 50*time.Millisecond, 5*time.Minute, "1500m", "1Gi"),
				burst(40, 3*time.Minute, 200*time.Millisecond, 3*time.Minute, "700m", "2Gi")...)...)
			x := newWitness(w)
			at := w.Now()
			for range 10 {
				at = at.Add(time.Duration(r.IntN(90_000)) * time.Millisecond)
				x.runUntil(t, at)
				w.Kill()
				at = at.Add(time.Duration(max(r.IntN(5_000)-2_500, 0)) * time.Millisecond)
				x.runUntil(t, at)
				w.Revive()
			}
			x.run(t)
			require.Empty(t, w.Ends())
			require.Equal(t, 80, w.Summary().Pods.Finished)
		})
	}
}

// TestRestartedWhileTheClaimIsBeingDeleted takes the way of a claim that an operator deletes while nobody looks.
func TestRestartedWhileTheClaimIsBeingDeleted(t *testing.T) {
	w := newWorld(t, Options{Pools: []*v1alpha1.NodePool{poolOf("general", 5, shape("small", "4", "8Gi"))}},
		burst(3, 0, 0, 30*time.Minute, "1", "1Gi")...)
	x := newWitness(w)
	x.runUntil(t, Zero.Add(5*time.Minute))
	require.Equal(t, 3, w.Summary().Pods.Running)
	w.Kill()
	claim := w.api.claims["general-000"]
	require.NoError(t, w.kube.DeleteClaim(t.Context(), claim.Name, claim.UID))
	x.runUntil(t, Zero.Add(6*time.Minute))
	w.Revive()
	x.run(t)
	require.Empty(t, w.Ends())
	s := w.Summary()
	require.Equal(t, 3, s.Pods.Restarted, "its pods were evicted and made again")
	require.Equal(t, 2, s.Machines.Bought)
}

// A Muster that was killed forgot what it answered; while a binding of that time is under way, its room is nobody's. The
// settle time is what keeps it, as the same moment without one shows.
func TestEarlierAnswersAreWaitedFor(t *testing.T) {
	ending := func(settle time.Duration) error {
		slow := DefaultDelays()
		slow.Bind = 3 * time.Second
		node := nodeNamed("n", "4", "8Gi")
		w := newWorld(t, Options{
			Pools: []*v1alpha1.NodePool{poolOf("general", 0, shape("small", "4", "8Gi"))},
			Nodes: []*corev1.Node{node}, Delays: &slow, Settle: &settle,
		}, Arrival{At: 0, Pod: pod("first", "3", "1Gi")}, Arrival{At: 1500 * time.Millisecond, Pod: pod("second", "3", "1Gi")})
		x := newWitness(w)
		w.RunUntil(Zero.Add(time.Second))
		w.Revive()
		for w.Step() {
			if err := x.check(); err != nil {
				return err
			}
		}
		return nil
	}
	require.NoError(t, ending(5*time.Second))
	require.ErrorContains(t, ending(0), "overbooked")
}
