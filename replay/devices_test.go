package replay

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const accelerator = corev1.ResourceName("example.com/accelerator")

func claiming(p *corev1.Pod) *corev1.Pod {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
	return p
}

func accelerated(p *corev1.Pod) *corev1.Pod {
	p.Spec.Containers[0].Resources.Requests[accelerator] = resource.MustParse("1")
	return p
}

// TestAPodThatAsksForDevicesIsNotJudged: it has no node, it costs nothing, and the replay says why.
func TestAPodThatAsksForDevicesIsNotJudged(t *testing.T) {
	name := string(accelerator)
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "accelerators"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &name}}
	pools := noGrowth[0].DeepCopy()
	pools.Spec.Limits.MaxNodes = 3
	w := newWorld(t, Options{Pools: append(noGrowth[:0:0], pools), Nodes: []*corev1.Node{onNode("a", "4", "8Gi")}, DeviceClasses: []*resourcev1.DeviceClass{class}},
		Arrival{Pod: claiming(pod("claims", "1", "1Gi"))}, Arrival{Pod: accelerated(pod("served", "1", "1Gi"))},
		Arrival{Pod: pod("plain", "1", "1Gi")})
	heard := overhear(t, w)
	w.RunUntil(Zero.Add(time.Minute))
	require.Equal(t, "a", nodeOfPod(w, "plain"))
	for _, waits := range []string{"claims", "served"} {
		require.Empty(t, heard[waits])
		require.Contains(t, refusal(w, waits), "is not judged")
	}
	s := w.Summary()
	require.Equal(t, 2, s.Pods.NotJudged)
	require.Zero(t, s.Machines.Bought)
	var text bytes.Buffer
	require.NoError(t, s.WriteText(&text))
	require.Contains(t, text.String(), "2 ask for devices")
	text.Reset()
	require.NoError(t, Comparison{Policies: []Outcome{{Name: "one", Summary: s}}}.WriteText(&text))
	require.Contains(t, text.String(), "not judged: 2 pods ask for devices")

	offers := onNode("b", "4", "8Gi")
	offers.Status.Allocatable[accelerator] = resource.MustParse("1")
	w.api.createNode(offers)
	w.RunUntil(Zero.Add(2 * time.Minute))
	require.Equal(t, "b", nodeOfPod(w, "served"), "the node offers the resource itself")
	require.Equal(t, 1, w.Summary().Pods.NotJudged)
}
