package replay

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Tolerate has a trace's pods tolerate the pools' taints, since a trace knows none. A taint that is named after an
// extended resource keeps pods off that do not ask for what its pool offers, as the admission plugin
// ExtendedResourceToleration has it; every other taint is tolerated by all.
func (o *TraceOptions) Tolerate(pools []*v1alpha1.NodePool) {
	offered := map[corev1.ResourceName]bool{WholeGPU: true}
	for _, p := range pools {
		for name := range devicesOf(p) {
			offered[name] = true
		}
	}
	o.Devices = map[corev1.ResourceName][]corev1.Toleration{}
	for _, p := range pools {
		for _, taint := range p.Spec.Template.Taints {
			t := corev1.Toleration{Key: taint.Key, Operator: corev1.TolerationOpExists}
			if !offered[corev1.ResourceName(taint.Key)] {
				o.Tolerations = appendNew(o.Tolerations, t)
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(devicesOf(p))) {
				o.Devices[name] = appendNew(o.Devices[name], t)
			}
		}
	}
}

func appendNew(list []corev1.Toleration, t corev1.Toleration) []corev1.Toleration {
	if slices.Contains(list, t) {
		return list
	}
	return append(list, t)
}

// devicesOf are the extended resources that a pool's machines have.
func devicesOf(p *v1alpha1.NodePool) map[corev1.ResourceName]bool {
	names := map[corev1.ResourceName]bool{}
	add := func(list corev1.ResourceList) {
		for name := range list {
			if strings.Contains(string(name), "/") {
				names[name] = true
			}
		}
	}
	for _, s := range p.Spec.Template.Shapes {
		add(s.Resources)
	}
	if r := p.Spec.Template.Range; r != nil {
		add(r.Resources)
	}
	return names
}
