package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// throughAPI is what comes back from the API server: times lose what their types do not keep.
func throughAPI(t *testing.T, c *v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	t.Helper()
	var out v1alpha1.NodeClaim
	require.NoError(t, json.Unmarshal([]byte(asJSON(c)), &out))
	return &out
}

// live runs a claim through a world in which anything may go wrong, then lets it go in a world where nothing does. The
// world itself holds the invariants.
func live(t *testing.T, chances []byte) *world {
	w := newWorld(t, chances)
	for i := 0; w.claim != nil && i < 3000 && len(w.chance.bytes) > 0; i++ {
		w.tick()
		w.pass(w.doze())
	}
	w.chance.bytes, w.stubborn = nil, false
	if w.claim != nil && w.claim.DeletionTimestamp == nil {
		w.claim.DeletionTimestamp = &metav1.Time{Time: w.now}
	}
	end := w.now.Add(time.Hour)
	for turns := 0; w.claim != nil; turns++ {
		w.require(w.now.Before(end) && turns < 10_000, "the claim did not end within an hour")
		w.tick()
		w.pass(w.doze())
	}
	w.pass(time.Minute)
	w.require(len(w.live) == 0, "a machine was left behind")
	return w
}

func TestNothingGoesWrongForGood(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { live(t, randomBytes(seed, int(seed%150)*60+int(seed%2))) })
	}
}

func randomBytes(seed uint64, n int) []byte {
	r, b := rand.New(rand.NewPCG(seed, 1)), make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// The runs above would prove little if they did not visit the whole table.
func TestTheRunsVisitEveryState(t *testing.T) {
	seen, undone, recovered := map[v1alpha1.ClaimState]int{}, 0, 0
	ended := map[v1alpha1.RestartStep]int{}
	for seed := range uint64(100) {
		w := newWorld(t, randomBytes(seed, 6000+int(seed%2)))
		for i := 0; w.claim != nil && i < 300; i++ {
			w.tick()
			w.pass(w.doze())
			if w.claim != nil {
				seen[w.claim.Status.State]++
				if r := w.claim.Status.Restart; r != nil {
					ended[r.Step]++
				}
			}
		}
		undone += w.undone
		recovered += w.recovered
	}
	require.Greater(t, undone, 10, "drains that were undone")
	require.Greater(t, recovered, 5, "machines that were restarted")
	for _, step := range []v1alpha1.RestartStep{v1alpha1.RestartStopping, v1alpha1.RestartStarting, v1alpha1.RestartBooting,
		v1alpha1.RestartRecovered} {
		require.Positive(t, ended[step], "restarts that were %s: %v", step, ended)
	}
	for _, row := range tableRows() {
		if row.State != v1alpha1.ClaimPending { // passed through within one step
			require.Greater(t, seen[row.State], 10, "state %s: %v", row.State, seen)
		}
	}
}

func TestAClaimBecomesReadyWhereNothingGoesWrong(t *testing.T) {
	for _, byHand := range []bool{false, true} {
		becomesReady(t, byHand)
	}
}

func becomesReady(t *testing.T, byHand bool) {
	w := newWorld(t, nil)
	w.byHand = byHand
	for w.claim.Status.State != v1alpha1.ClaimReady {
		w.require(w.now.Sub(start) < time.Minute, "not ready after a minute: %s", w.claim.Status.State)
		w.tick()
		w.pass(w.doze())
	}
	w.tick()
	require.Len(t, w.node.Spec.Taints, 1, "only the pool's own taint is left")
	require.Equal(t, "h1", w.node.Labels["rack"])
	require.Equal(t, "std-000", w.node.Labels[v1alpha1.ClaimLabel])
}

// A drain that is undone leaves the node as it was: what is ours comes off, what is somebody else's stays.
func TestAnUndoneDrainRestoresTheNode(t *testing.T) {
	for name, before := range map[string]func(*world){
		"an open node":                       func(*world) {},
		"a node that somebody else cordoned": func(w *world) { w.node.Spec.Unschedulable = true },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.until(func() bool { return w.claim.Status.State == v1alpha1.ClaimReady && len(w.node.Spec.Taints) == 1 })
			before(w)
			was := w.node.DeepCopy()
			w.pods = []lifecycle.PodOnNode{{Namespace: "d", Name: "p", UID: "p", Refused: "Cannot evict pod", Stay: ""}}
			w.stubborn = true
			w.claim.Spec.Release = &v1alpha1.Release{Reason: "Underused", Since: metav1.NewMicroTime(w.now), Drain: &v1alpha1.Drain{
				Timeout: metav1.Duration{Duration: time.Minute},
			}}
			w.until(func() bool { return w.claim.Status.State == v1alpha1.ClaimDraining })
			w.until(func() bool { return w.claim.Status.State == v1alpha1.ClaimReady })
			w.tick()
			require.Equal(t, was.Spec, w.node.Spec)
			require.Equal(t, was.Annotations, w.node.Annotations)
			draining := meta.FindStatusCondition(w.claim.Status.Conditions, v1alpha1.ConditionDraining)
			require.Equal(t, metav1.ConditionFalse, draining.Status)
			require.Equal(t, "DrainBlocked", draining.Reason)
			require.Contains(t, draining.Message, "pods did not leave within 1m0s: 1, one of them d/p: Cannot evict pod")
			require.EqualValues(t, 1, w.claim.Status.DrainFailures)
			require.GreaterOrEqual(t, w.claim.Status.DrainAgain.Sub(w.now), 14*time.Minute)
		})
	}
}

// until turns the world until something is so.
func (w *world) until(so func() bool) {
	w.t.Helper()
	for turns := 0; !so(); turns++ {
		w.require(turns < 1000, "it never came to that")
		w.tick()
		w.pass(w.doze())
	}
}

func FuzzStep(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(randomBytes(seed, 600+int(seed%2)))
	}
	f.Fuzz(func(t *testing.T, chances []byte) { live(t, chances) })
}
