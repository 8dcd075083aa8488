package witness

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func TestReleasesAreJudgedByVersions(t *testing.T) {
	claim := func(asked bool, state v1alpha1.ClaimState) *v1alpha1.NodeClaim {
		c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{UID: "c"}}
		c.Status.NodeName, c.Status.State = "n", state
		if asked {
			c.Spec.Release = &v1alpha1.Release{Reason: "Idle"}
		}
		return c
	}
	pod := func(node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p", Name: "p"}, Spec: corev1.PodSpec{NodeName: node}}
	}
	for name, c := range map[string]struct {
		bound, gone  uint64
		ours         types.UID
		late, killed int
	}{
		"before it closed, and gone before that": {1, 2, "p", 0, 0},
		"while it was closed, and gone in time":  {11, 12, "p", 1, 0},
		"after it opened again":                  {21, 22, "p", 0, 0},
		"there when the machine was given back":  {25, 45, "p", 0, 1},
		"deleted by somebody else":               {1, 2, "", 0, 1},
		"never gone from a machine that is":      {25, 0, "", 0, 1},
		"after the claim was gone":               {51, 52, "p", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Releases{stop: func() {}, claims: map[types.UID]*leaving{}, pods: map[types.UID]*stay{}, ours: map[types.UID]bool{c.ours: true}}
			r.claim(watch.Modified, claim(false, v1alpha1.ClaimReady), 5)
			r.claim(watch.Modified, claim(true, v1alpha1.ClaimReady), 10)
			r.claim(watch.Modified, claim(false, v1alpha1.ClaimReady), 20)
			r.claim(watch.Modified, claim(true, v1alpha1.ClaimReady), 30)
			r.claim(watch.Modified, claim(true, v1alpha1.ClaimReleasing), 40)
			r.claim(watch.Deleted, claim(true, v1alpha1.ClaimReleasing), 50)
			r.pod(watch.Modified, pod("n"), c.bound)
			if c.gone > 0 {
				r.pod(watch.Deleted, pod("n"), c.gone)
			}
			require.Equal(t, 1, r.MostClosed())
			f, err := r.Verdict()
			require.NoError(t, err)
			require.Len(t, f.Late, c.late, "%v", f.Late)
			require.Len(t, f.Killed, c.killed, "%v", f.Killed)
			begun, back, out, bound := r.Counts()
			require.Equal(t, []int{2, 1, 1, 1}, []int{begun, back, out, bound})
		})
	}
}
