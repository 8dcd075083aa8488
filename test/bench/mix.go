package bench

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maker makes pods; the seed decides what they ask for.
type maker struct {
	*rand.Rand
	made int
	size func() (milliCPU, mebibytes int64)
}

func newMaker(seed uint64) *maker {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 1))}
	m.size = m.usual
	return m
}

// usual are the sizes of Karpenter's benchmark, each as likely as the next.
func (m *maker) usual() (milliCPU, mebibytes int64) {
	cpu := [...]int64{100, 250, 500, 1000, 1500}
	memory := [...]int64{100, 256, 512, 1024, 2048, 4096}
	return cpu[m.IntN(len(cpu))], memory[m.IntN(len(memory))]
}

// pod makes one with the given labels that asks for the next size.
func (m *maker) pod(labels map[string]string) *corev1.Pod {
	cpu, memory := m.size()
	name := fmt.Sprintf("pod-%06d", m.made)
	m.made++
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), Labels: labels, CreationTimestamp: metav1.NewTime(now),
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{{
				Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: amounts},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}

// label is one of seven values.
func (m *maker) label(key string) map[string]string {
	return map[string]string{key: string("abcdefg"[m.IntN(7)])}
}

// mixed is the mix of Karpenter's own benchmark: equal parts of plain pods, of pods spread over zones and over hosts, of
// pods that want to share a zone, and of pods that refuse to share a host. What is left over by five is plain.
func mixed(seed uint64, n int) []*corev1.Pod {
	m := newMaker(seed)
	pods := m.plain(n / 5)
	pods = append(pods, m.spread(n/5, corev1.LabelTopologyZone)...)
	pods = append(pods, m.spread(n/5, corev1.LabelHostname)...)
	pods = append(pods, m.together(n/5, corev1.LabelTopologyZone)...)
	pods = append(pods, m.apart(n/5, corev1.LabelHostname)...)
	return append(pods, m.plain(n-len(pods))...)
}

func (m *maker) plain(n int) (pods []*corev1.Pod) {
	for range n {
		pods = append(pods, m.pod(m.label("my-label")))
	}
	return pods
}

// spread pods count pods with a label that need not be their own.
func (m *maker) spread(n int, key string) (pods []*corev1.Pod) {
	for range n {
		p := m.pod(m.label("my-label"))
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: m.label("my-label")},
		}}
		pods = append(pods, p)
	}
	return pods
}

func (m *maker) together(n int, key string) (pods []*corev1.Pod) {
	for range n {
		labels := m.label("my-affinity")
		p := m.pod(labels)
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(labels, key)},
		}}
		pods = append(pods, p)
	}
	return pods
}

func (m *maker) apart(n int, key string) (pods []*corev1.Pod) {
	for range n {
		labels := map[string]string{"app": "nginx"}
		p := m.pod(labels)
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(labels, key)},
		}}
		pods = append(pods, p)
	}
	return pods
}

func term(labels map[string]string, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: labels}, TopologyKey: key}
}
