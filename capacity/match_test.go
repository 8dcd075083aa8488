package capacity_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider/identity"
)

// Two parts of the program say whose a node is; they must never disagree.
func TestLiveMatchesNodesToClaimsAsTheLifecycleDoes(t *testing.T) {
	matched := 0
	for seed := range uint64(3000) {
		by := rand.New(rand.NewPCG(seed, 7))
		pick := func(of ...string) string { return of[by.IntN(len(of))] }
		live := capacity.NewLive(capacity.Schedulers{})
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "pool-001"}}
		node.Spec.ProviderID = pick("", "sim://1", "sim://2")
		node.Status.NodeInfo.SystemUUID = pick("", "u-1", "U-2")
		var claims []*v1alpha1.NodeClaim
		for i := range by.IntN(4) {
			c := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pool-%03d", i), UID: types.UID(fmt.Sprint(i))}}
			c.Status.State = v1alpha1.ClaimReady
			c.Status.ProviderID = pick("", "", "sim://1", "sim://2")
			c.Status.SystemUUID = pick("", "", "U-1", "u-2")
			c.Status.NodeName = pick("", "pool-001", "other")
			claims = append(claims, c)
		}
		live.SetNode(node, time.Time{})
		for _, i := range by.Perm(len(claims)) {
			live.SetClaim(claims[i])
		}
		want, _ := identity.Match(claims, node)
		if want == nil {
			require.Empty(t, live.View().Nodes[0].Claim, "seed %d", seed)
			continue
		}
		matched++
		require.Equal(t, want.Name, live.View().Nodes[0].Claim, "seed %d", seed)
	}
	require.Greater(t, matched, 500)
}
