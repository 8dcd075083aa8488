package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsGetWhatTheAPIServerWouldWrite(t *testing.T) {
	web := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	}
	term := func(s *metav1.LabelSelector) corev1.PodAffinityTerm {
		return corev1.PodAffinityTerm{LabelSelector: s, MatchLabelKeys: []string{"v", "absent"}, MismatchLabelKeys: []string{"team"}}
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web", "v": "1", "team": "a"}}}
	p.Spec.Affinity = &corev1.Affinity{
		PodAffinity:     &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(web())}},
		PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(nil)}},
	}
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{LabelSelector: web(), MatchLabelKeys: []string{"v"}}}
	p.Spec.HostNetwork = true
	p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 81, HostPort: 81}}}}
	defaultPod(p)
	defaultPod(p)
	own := []metav1.LabelSelectorRequirement{{Key: "v", Operator: metav1.LabelSelectorOpIn, Values: []string{"1"}}}
	others := append(own, metav1.LabelSelectorRequirement{Key: "team", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"a"}})
	a := p.Spec.Affinity
	assert.Equal(t, others, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector.MatchExpressions)
	assert.Nil(t, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector, "it selects nothing")
	assert.Equal(t, own, p.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions)
	assert.Equal(t, int32(80), p.Spec.Containers[0].Ports[0].HostPort, "ports of the node's network are the node's")

	p.UID, p.Labels["v"] = "made", "2"
	defaultPod(p)
	assert.Equal(t, own, p.Spec.TopologySpreadConstraints[0].LabelSelector.MatchExpressions, "a pod that exists stays as it is")
}
