package world

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const mostPending = 60

// pending makes the pods that wait: some classes, the pods of each alike.
func (m *maker) pending() {
	for c := range m.classes {
		d := m.dice("class", c)
		first := m.class(c)
		for i := range min(d.between(1, 12), mostPending-len(m.Pending)) {
			p := first.DeepCopy()
			p.Name = m.name("app%d-%d", c, i)
			if d, ok := m.kind(Gates, "pod", c, i); ok && d.once(15) {
				p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: Gate}}
			}
			m.mount(p, c, i)
			m.Pending = append(m.Pending, p)
		}
	}
}

// class is the first pod of a class. Most have few rules, so that most can be served.
func (m *maker) class(c int) *corev1.Pod {
	d := m.dice("requests", c)
	requests := corev1.ResourceList{"cpu": cpu(pick(d, 100, 250, 500, 1000, 1500, 3000)), "memory": memory(pick(d, 100, 256, 512, 1024, 2048, 4096))}
	if d.once(12) {
		requests = nil
	}
	if d, ok := m.kind(Extended, "class", c); ok && d.once(6) && requests != nil {
		requests[gpu] = count(d.between(1, 2))
	}
	p := m.pod("", requests)
	p.Labels = map[string]string{"app": fmt.Sprintf("app%d", c), "tier": pick(d, "front", "back"), "version": pick(d, "v1", "v2")}
	m.inNamespace(p, "class", c)
	if d, ok := m.kind(Labels, "class", c); ok && d.once(3) {
		m.chooseNodes(d, p)
	}
	if d, ok := m.kind(Taints, "class", c); ok && d.once(2) {
		p.Spec.Tolerations = tolerations(d)
	}
	if d, ok := m.kind(Priorities, "class", c); ok && d.once(3) {
		p.Spec.PriorityClassName = pick(d, slices.Sorted(maps.Keys(PriorityClasses()))...)
	}
	m.ports(p, 6, "class", c)
	m.spread(p, c)
	m.affinity(p, c)
	m.prefer(p, c)
	return p
}

func (m *maker) pod(name string, requests corev1.ResourceList) *corev1.Pod {
	limits := corev1.ResourceList{}
	if q, ok := requests[gpu]; ok {
		limits[gpu] = q // an extended resource cannot be overcommitted: the API server wants the limit too
	}
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: m.name("%s", name), Namespace: DefaultNamespace},
		Spec: corev1.PodSpec{
			SchedulerName: "muster",
			Containers: []corev1.Container{{Name: "main", Image: "none.invalid/none",
				Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
		},
	}
}

func (m *maker) inNamespace(p *corev1.Pod, what string, number ...int) {
	if d, ok := m.kind(Namespaces, what, number...); ok {
		p.Namespace = pick(d, slices.Sorted(maps.Keys(Teams()))...)
	}
}

// ports gives one pod in n a port of its node.
func (m *maker) ports(p *corev1.Pod, n int, what string, number ...int) {
	d, ok := m.kind(Ports, what, number...)
	if !ok || !d.once(n) {
		return
	}
	port := pick(d, int32(8080), 9090)
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{
		ContainerPort: port, HostPort: port, HostIP: pick(d, "", "", "127.0.0.1", "10.0.0.1"),
		Protocol: pick(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
	}}
}

func tolerations(d dice) []corev1.Toleration {
	return some(d,
		corev1.Toleration{Key: "example.com/dedicated", Operator: corev1.TolerationOpEqual, Value: pick(d, "red", "blue")},
		corev1.Toleration{Key: "example.com/fragile", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		corev1.Toleration{Key: "example.com/slow", Operator: corev1.TolerationOpExists},
		corev1.Toleration{Key: "node.kubernetes.io/unschedulable", Operator: corev1.TolerationOpExists},
	)
}
