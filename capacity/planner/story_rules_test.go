package planner

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rule adds rules that must hold: spread=KEY:LINE keeps the pods of a line (this one where it is left out) even over the
// domains of a key, alone=KEY:LINE keeps them out of this pod's domain, port=8080 takes a port of the node.
func (l storyLine) rule(p *corev1.Pod) {
	of := func(text string) (string, *metav1.LabelSelector) {
		key, line, other := strings.Cut(text, ":")
		if !other {
			line = l.name
		}
		return key, &metav1.LabelSelector{MatchLabels: map[string]string{"line": line}}
	}
	for _, text := range l.all("spread") {
		key, selector := of(text)
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector})
	}
	for _, text := range l.all("alone") {
		key, selector := of(text)
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: selector}}}}
	}
	for _, text := range l.all("port") {
		port, err := strconv.Atoi(text)
		if err != nil {
			l.t.Fatal(err)
		}
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: int32(port), HostPort: int32(port)}}
	}
}
