package world

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What DaemonSets may take of a node in all; running pods leave it free.
const (
	daemonCPU, daemonMemory = 400, 400 // milli, Mi
	daemonPods              = 3
)

func (m *maker) nodes() {
	d := m.dice("nodes")
	for i := range d.between(0, 10) {
		node := m.node(i)
		m.Nodes = append(m.Nodes, node)
		m.fill(i, node)
	}
}

func (m *maker) node(i int) *corev1.Node {
	d := m.dice("node", i)
	cores := pick(d, 2, 4, 8, 12)
	room := corev1.ResourceList{
		"cpu": count(cores), "memory": memory(cores * 1024 * pick(d, 1, 2, 4)), "pods": count(110),
	}
	n := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: m.name("n%d", i), Labels: m.nodeLabels("node", i)},
	}
	n.Labels[corev1.LabelHostname] = n.Name
	if d, ok := m.kind(Extended, "node", i); ok {
		if d.once(4) {
			room[gpu] = count(d.between(1, 4))
		}
		if d.once(5) {
			room["pods"] = count(d.between(4, 14))
		}
	}
	if d, ok := m.kind(Taints, "node", i); ok {
		n.Spec.Taints = randomTaints(d, 3)
		n.Spec.Unschedulable = d.once(10)
	}
	n.Status.Capacity, n.Status.Allocatable = room, room
	return n
}

// fill puts running pods on a node: none, some, or nearly as many as it takes.
func (m *maker) fill(i int, node *corev1.Node) {
	d := m.dice("fill", i)
	room := node.Status.Allocatable
	share := pick(d, 0, 0, 30, 60, 95)
	pods := d.between(1, 5)
	if most := int(room.Pods().Value()) - daemonPods; pods > most {
		pods = max(most, 0)
	}
	milli := (int(room.Cpu().MilliValue()) - daemonCPU) * share / 100
	mebi := (int(room.Memory().Value()>>20) - daemonMemory) * share / 100
	if share == 0 {
		return
	}
	for k := range pods {
		requests := corev1.ResourceList{"cpu": cpu(milli / pods), "memory": memory(mebi / pods)}
		p := m.pod(fmt.Sprintf("old%d-%d", i, k), requests)
		p.Spec.NodeName, p.Spec.SchedulerName = node.Name, corev1.DefaultSchedulerName
		p.Labels = map[string]string{"app": fmt.Sprintf("app%d", d.IntN(m.classes+1)), "tier": pick(d, "front", "back")}
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		m.inNamespace(p, "old", i, k)
		m.ports(p, 8, "old", i, k)
		if d, ok := m.kind(Affinity, "old", i, k); ok && d.once(8) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{m.term(d, d.IntN(m.classes))},
			}}
		}
		m.Bound = append(m.Bound, p)
	}
}
