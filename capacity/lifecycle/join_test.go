package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// A node's Ready condition comes before kube-controller-manager takes the taint of a new node off. In between, a Ready
// claim would be a node that refuses the very pods it was bought for, and they would be bought for again.
func TestIsNotReadyWhileKubernetesKeepsPodsOffItsNode(t *testing.T) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeNetworkUnavailable,
		"node.cloudprovider.kubernetes.io/uninitialized"} {
		t.Run(key, func(t *testing.T) {
			w := newWorld(t, nil)
			var tainted time.Duration
			for w.claim.Status.State != v1alpha1.ClaimReady {
				w.require(w.now.Sub(start) < 2*time.Minute, "not ready after two minutes: %s", w.claim.Status.Message)
				w.tick()
				w.pass(time.Second)
				if w.node == nil || tainted > 10*time.Second {
					continue
				}
				if tainted += time.Second; tainted == time.Second {
					w.node.Spec.Taints = append(w.node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
				} else if tainted > 10*time.Second {
					require.Equal(t, v1alpha1.ClaimStarting, w.claim.Status.State)
					require.Contains(t, w.claim.Status.Message, key)
					w.node.Spec.Taints = w.node.Spec.Taints[1:] // it was put on first, before Muster's own
				}
			}
			w.tick()
			require.Len(t, w.node.Spec.Taints, 1, "only the pool's own taint is left")
		})
	}
}
