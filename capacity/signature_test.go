package capacity

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestSignatureIsEqualExactlyWhereEveryNodeAnswersAlike(t *testing.T) {
	base := func() *corev1.Pod {
		p := object.Pod("p", "cpu", "1", "memory", "1Gi", "example.com/gpu", "1")
		p.Spec.NodeSelector = map[string]string{"a": "1", "b": "2"}
		p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Value: "v"}}
		return p
	}
	want := NewAsk(base()).Signature
	same := base()
	same.Name, same.UID, same.Namespace, same.Labels = "q", "q", "other", map[string]string{"x": "y"}
	same.Spec.Containers = []corev1.Container{object.Container("a", "cpu", "400m", "memory", "1Gi"), object.Container("b", "cpu", "600m", "example.com/gpu", "1")}
	assert.Equal(t, want, NewAsk(same).Signature, "the same sum in other containers of another pod")

	for name, change := range map[string]func(p *corev1.Pod){
		"cpu":               func(p *corev1.Pod) { p.Spec.Overhead = object.Amounts("cpu", "1m") },
		"memory":            func(p *corev1.Pod) { p.Spec.Overhead = object.Amounts("memory", "1") },
		"ephemeral storage": func(p *corev1.Pod) { p.Spec.Overhead = object.Amounts("ephemeral-storage", "1") },
		"a named resource":  func(p *corev1.Pod) { p.Spec.Overhead = object.Amounts("example.com/fpga", "1") },
		"a selector":        func(p *corev1.Pod) { p.Spec.NodeSelector["b"] = "3" },
		"a selector moved":  func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "1b", "": "2"} },
		"a toleration":      func(p *corev1.Pod) { p.Spec.Tolerations[0].Effect = corev1.TaintEffectNoExecute },
		"no toleration":     func(p *corev1.Pod) { p.Spec.Tolerations = nil },
		"an affinity that no node matches": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{}}}
		},
		"a preference": func(p *corev1.Pod) {
			*p = *object.Preferring(p, 1, corev1.NodeSelectorRequirement{Key: "a", Operator: corev1.NodeSelectorOpExists})
		},
		"resource claims":    func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c"}} },
		"a scheduling group": func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} },
	} {
		p := base()
		change(p)
		assert.NotEqual(t, want, NewAsk(p).Signature, name)
	}
}
