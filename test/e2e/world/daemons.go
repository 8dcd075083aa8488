package world

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// daemons are at most two: one on every node, one on nodes of a sort. Their pods belong to the default scheduler.
func (m *maker) daemons() {
	d, ok := m.kind(Daemons, "daemons")
	if !ok || d.once(3) {
		return
	}
	m.daemon("agent", d, []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, nil)
	if d.once(2) {
		m.daemon("disks", d, nil, map[string]string{diskLabel: pick(d, "ssd", "hdd")})
	}
}

func (m *maker) daemon(name string, d dice, tolerations []corev1.Toleration, nodes map[string]string) {
	requests := corev1.ResourceList{"cpu": cpu(d.between(1, daemonCPU/20) * 10), "memory": memory(d.between(1, daemonMemory/20) * 10)}
	template := m.pod("", requests)
	template.Spec.SchedulerName = corev1.DefaultSchedulerName
	template.Spec.Tolerations, template.Spec.NodeSelector = tolerations, nodes
	template.Labels = map[string]string{"daemon": name}
	m.Daemons = append(m.Daemons, &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Name: m.name("%s", name), Namespace: DefaultNamespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
		},
	})
}
