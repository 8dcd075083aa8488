package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// topology labels a node; now and then a label is missing, empty, or shared by two hosts.
func (g *gen) topology(n *corev1.Node) {
	if g.chance(95) {
		n.Labels[corev1.LabelHostname] = n.Name
	}
	if g.chance(5) {
		n.Labels[corev1.LabelHostname] = "n0"
	}
	if g.chance(90) {
		n.Labels[corev1.LabelTopologyZone] = pick(g, "a", "b", "c", "")
	}
	if g.chance(70) {
		n.Labels["rack"] = pick(g, "1", "2", "3")
	}
	if g.chance(50) {
		n.Labels["disk"] = pick(g, "ssd", "hdd")
	}
	if g.chance(50) {
		n.Labels["cores"] = pick(g, "4", "8", "many")
	}
}

func (g *gen) taints(n *corev1.Node) {
	for g.chance(20) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: pick(g, "team", "gpu"), Value: pick(g, "", "a", "b"),
			Effect: pick(g, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
		})
	}
	n.Spec.Unschedulable = g.chance(5)
}

func (g *gen) allocatable(n *corev1.Node) {
	set := func(name corev1.ResourceName, text string) { n.Status.Allocatable[name] = resource.MustParse(text) }
	set(corev1.ResourceCPU, pick(g, "1", "2", "4", "0"))
	set(corev1.ResourceMemory, pick(g, "1Gi", "2Gi", "4Gi"))
	set(corev1.ResourcePods, pick(g, "3", "5", "110", "0"))
	if g.chance(40) {
		set(corev1.ResourceEphemeralStorage, "2Gi")
	}
	if g.chance(30) {
		set("example.com/gpu", fmt.Sprint(g.IntN(3)))
	}
	if g.chance(20) {
		set("hugepages-2Mi", "64Mi")
	}
}
