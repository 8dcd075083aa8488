package capacity

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestStays(t *testing.T) {
	annotated := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
	}
	with := func(s corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "v", VolumeSource: s})
		}
	}
	disk := with(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	bare := func(p *corev1.Pod) { p.OwnerReferences = nil }
	for name, c := range map[string]struct {
		change     []func(*corev1.Pod)
		evictLocal bool
		want       Stay
	}{
		"a pod that its controller makes again moves": {},
		"a bare pod stays":                            {change: []func(*corev1.Pod){bare}, want: StayBare},
		"a bare pod whose owner says so moves": {
			change: []func(*corev1.Pod){bare, annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")},
		},
		"Muster's own word": {
			change: []func(*corev1.Pod){annotated("muster.sh/do-not-release", "true")}, want: StayProtected,
		},
		"Karpenter's": {change: []func(*corev1.Pod){annotated("karpenter.sh/do-not-disrupt", "true")}, want: StayProtected},
		"cluster-autoscaler's": {
			change: []func(*corev1.Pod){annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")}, want: StayProtected,
		},
		"a word that is taken back": {change: []func(*corev1.Pod){annotated("karpenter.sh/do-not-disrupt", "false")}},
		"an emptyDir on disk":       {change: []func(*corev1.Pod){disk}, want: StayLocal},
		"one that may be lost, says the pool": {
			change: []func(*corev1.Pod){disk}, evictLocal: true,
		},
		"one that may be lost, says the owner": {
			change: []func(*corev1.Pod){disk, annotated("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "a, v")},
		},
		"another one may be lost": {
			change: []func(*corev1.Pod){disk, annotated("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "a,vv")}, want: StayLocal,
		},
		"an emptyDir in memory": {
			change: []func(*corev1.Pod){with(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}})},
		},
		"a hostPath": {
			change: []func(*corev1.Pod){with(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}})}, want: StayLocal,
		},
		"a ConfigMap": {change: []func(*corev1.Pod){with(corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}})}},
		"a scheduler that nobody knows": {
			change: []func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }}, want: StayForeign,
		},
		"dynamic resources": {
			change: []func(*corev1.Pod){func(p *corev1.Pod) {
				p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: new("gpu")}}
			}}, want: StayUnjudged,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := object.Owned(object.Pod("p", "cpu", "1"), "ReplicaSet", "rs")
			for _, change := range c.change {
				change(p)
			}
			require.Equal(t, c.want, PodOf(p).Stays(makeLive().schedulers, c.evictLocal))
		})
	}
}
