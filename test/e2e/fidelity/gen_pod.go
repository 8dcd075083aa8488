package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func (g *gen) amounts() corev1.ResourceList {
	l := corev1.ResourceList{}
	if g.chance(80) {
		l[corev1.ResourceCPU] = resource.MustParse(pick(g, "100m", "250m", "500m", "1", "3", "0"))
	}
	if g.chance(60) {
		l[corev1.ResourceMemory] = resource.MustParse(pick(g, "64Mi", "256Mi", "1Gi", "3Gi"))
	}
	if g.chance(10) {
		l[corev1.ResourceEphemeralStorage] = resource.MustParse(pick(g, "100Mi", "1Gi", "3Gi"))
	}
	if g.chance(10) {
		l["example.com/gpu"] = resource.MustParse(pick(g, "0", "1", "2"))
	}
	if g.chance(5) {
		l["hugepages-2Mi"] = resource.MustParse(pick(g, "2Mi", "64Mi", "66Mi"))
	}
	return l
}

func (g *gen) resources(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests = g.amounts()
	if g.chance(20) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
			Name: "second", Resources: corev1.ResourceRequirements{Requests: g.amounts()},
		})
	}
	for i := 0; g.chance(20) && i < 3; i++ {
		c := corev1.Container{Name: fmt.Sprintf("init%d", i), Resources: corev1.ResourceRequirements{Requests: g.amounts()}}
		if g.chance(50) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if g.chance(10) {
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	}
	if g.chance(10) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(pick(g, "500m", "2")),
		}}
	}
}

func (g *gen) tolerations(p *corev1.Pod) {
	for range 1 + g.IntN(2) {
		t := corev1.Toleration{
			Key: pick(g, "team", "gpu", "", corev1.TaintNodeUnschedulable), Operator: pick(g, "", corev1.TolerationOpEqual, corev1.TolerationOpExists),
			Effect: pick(g, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute),
		}
		if t.Operator != corev1.TolerationOpExists {
			t.Value = pick(g, "", "a", "b")
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, t)
	}
}

func (g *gen) nodeSelector(p *corev1.Pod) {
	p.Spec.NodeSelector = map[string]string{}
	switch g.IntN(3) {
	case 0:
		p.Spec.NodeSelector["disk"] = pick(g, "ssd", "hdd", "tape")
	case 1:
		p.Spec.NodeSelector[corev1.LabelTopologyZone] = pick(g, "a", "b", "")
	default:
		p.Spec.NodeSelector[corev1.LabelHostname] = pick(g, "n0", "n1")
	}
}

func affinityOf(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func (g *gen) nodeAffinity(p *corev1.Pod) {
	a := &corev1.NodeAffinity{}
	affinityOf(p).NodeAffinity = a
	if g.chance(80) {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		for range g.IntN(3) + g.IntN(2) {
			a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = append(
				a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, g.nodeTerm())
		}
	}
	for g.chance(30) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: int32(1 + g.IntN(100)), Preference: g.nodeTerm()})
	}
}

func (g *gen) nodeTerm() corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	for range g.IntN(3) {
		t.MatchExpressions = append(t.MatchExpressions, g.nodeRequirement())
	}
	if g.chance(15) {
		t.MatchFields = []corev1.NodeSelectorRequirement{{
			Key: "metadata.name", Operator: pick(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{pick(g, "n0", "n1", "n2")},
		}}
	}
	return t
}

func (g *gen) nodeRequirement() corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{
		Key: pick(g, "disk", corev1.LabelTopologyZone, "rack", "cores", "absent"),
		Operator: pick(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
	}
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		r.Values = []string{pick(g, "ssd", "a", "1", "4", ""), pick(g, "hdd", "b", "2", "8")}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		r.Values = []string{pick(g, "1", "4", "5", "x")}
	}
	return r
}

// hostPorts puts ports on containers, on sidecars, and on init containers, which do not count.
func (g *gen) hostPorts(p *corev1.Pod) {
	port := func() corev1.ContainerPort {
		return corev1.ContainerPort{
			HostPort: pick[int32](g, 0, 80, 80, 443), HostIP: pick(g, "", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::"),
			Protocol: pick(g, "", corev1.ProtocolTCP, corev1.ProtocolUDP), ContainerPort: 80,
		}
	}
	for range 1 + g.IntN(2) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, port())
	}
	if g.chance(30) {
		c := corev1.Container{Name: "ported", Ports: []corev1.ContainerPort{port()}}
		if g.chance(50) {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
}
