package control_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// ward is a house with two nodes of a pool that asks for repair after 10 minutes; one has been silent from the start.
func ward(t *testing.T) *house {
	h := newHouse(t)
	h.live.SetPool(&v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.NodePoolSpec{Provider: "px",
		Repair: &v1alpha1.Repair{After: metav1.Duration{Duration: 10 * time.Minute}, Strategy: v1alpha1.RepairByRestart}}})
	for _, name := range []string{"p-000", "p-001"} {
		h.machine(name, "own", true)
		c := h.live.Claim(name).DeepCopy()
		c.Spec.Pool, c.ResourceVersion = "p", "1"
		h.live.SetClaim(c)
		n := h.nodes[len(h.nodes)-1].DeepCopy()
		n.Labels, n.Status.Allocatable = map[string]string{v1alpha1.PoolLabel: "p"}, resources("4", "8Gi")
		if name == "p-000" {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &metav1.Time{Time: h.now}}}
		}
		h.live.SetNode(n, h.now)
	}
	h.loop.Keeper.Restarted = func(pool string) { require.Equal(t, "p", pool); h.restarts++ }
	h.loop.Keeper.Repaired = func(pool string) { require.Equal(t, "p", pool); h.replaced++ }
	return h
}

// restartEnds says how the restart of the silent node's machine ended.
func (h *house) restartEnds(how v1alpha1.RestartStep) {
	c := h.live.Claim("p-000").DeepCopy()
	c.Status.Restart = &v1alpha1.RestartStatus{Since: c.Spec.Restart.Since, Step: how, At: metav1.NewMicroTime(h.now)}
	h.live.SetClaim(c)
}

func TestASilentNodeIsRestartedOnceAndThenReplaced(t *testing.T) {
	h := ward(t)
	h.runs(10 * time.Minute)
	require.Zero(t, h.restarts, "10 minutes less a listing")
	h.runs(15 * time.Second)
	asked := h.live.Claim("p-000").Spec.Restart
	require.NotNil(t, asked)
	h.restartsAgain(t)
	h.runs(time.Hour)
	require.Equal(t, 1, h.restarts, "once, however long it takes, and whoever leads")
	require.Equal(t, asked, h.live.Claim("p-000").Spec.Restart)
	require.Zero(t, h.replaced)
	h.restartEnds(v1alpha1.RestartInVain)
	h.runs(time.Hour)
	require.Equal(t, "Unhealthy", h.live.Claim("p-000").Spec.Release.Reason)
	require.Equal(t, 1, h.replaced)
	require.Nil(t, h.live.Claim("p-001").Spec.Restart)
	require.Equal(t, []string{"NodeClaim p-000 NodeUnhealthy", "NodeClaim p-000 NodeUnhealthy"}, h.events)
}

// restartsAgain is a new leader in the same ward.
func (h *house) restartsAgain(t *testing.T) {
	restarted, repaired := h.loop.Keeper.Restarted, h.loop.Keeper.Repaired
	h.restart()
	h.loop.Keeper.Restarted, h.loop.Keeper.Repaired = restarted, repaired
	require.NotNil(t, h.live.Claim("p-000"))
}

func TestNoNodeIsRestartedInDoubt(t *testing.T) {
	for name, doubt := range map[string]func(*house){
		"a listing that is partial": func(h *house) { h.partial, h.listing = true, provider.ErrUnknown },
		"a listing that fails":      func(h *house) { h.listing = provider.ErrUnknown },
		"somebody else leads":       func(h *house) { h.loop.Keeper.Leading = func() bool { return false } },
	} {
		t.Run(name, func(t *testing.T) {
			h := ward(t)
			doubt(h)
			h.runs(time.Hour)
			require.Nil(t, h.live.Claim("p-000").Spec.Restart)
			require.Zero(t, h.restarts+h.replaced)
		})
	}
}
