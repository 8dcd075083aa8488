package manifest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The largest amounts that fit 64 bits: CPU is counted in thousandths, everything else in whole units.
var (
	mostCPU = *resource.NewMilliQuantity(1<<63-1, resource.DecimalSI)
	most    = *resource.NewQuantity(1<<63-2, resource.DecimalSI) // the parser makes 1<<63-1 of anything larger
)

// checkNode reports amounts that no node can have, and taints without a meaning.
func checkNode(o object, node *corev1.Node) Errors {
	errs := checkAmounts(o, "status.capacity", node.Status.Capacity)
	errs = append(errs, checkAmounts(o, "status.allocatable", node.Status.Allocatable)...)
	for i, taint := range node.Spec.Taints {
		path := fmt.Sprintf("spec.taints[%d].effect", i)
		switch taint.Effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		default:
			errs = append(errs, o.problem(path, "Unsupported value: %q: supported are NoSchedule, PreferNoSchedule, NoExecute", taint.Effect))
		}
	}
	return errs
}

// checkPod reports amounts that no pod can ask for. A pod without containers asks for nothing, which nobody means.
func checkPod(o object, spec *corev1.PodSpec, path string) Errors {
	var errs Errors
	if len(spec.Containers) == 0 {
		errs = append(errs, o.problem(path+".containers", "Required value: at least one container"))
	}
	for i := range spec.InitContainers {
		errs = append(errs, checkResources(o, fmt.Sprintf("%s.initContainers[%d].resources", path, i), &spec.InitContainers[i].Resources)...)
	}
	for i := range spec.Containers {
		errs = append(errs, checkResources(o, fmt.Sprintf("%s.containers[%d].resources", path, i), &spec.Containers[i].Resources)...)
	}
	if spec.Resources != nil {
		errs = append(errs, checkResources(o, path+".resources", spec.Resources)...)
	}
	return append(errs, checkAmounts(o, path+".overhead", spec.Overhead)...)
}

func checkResources(o object, path string, r *corev1.ResourceRequirements) Errors {
	errs := checkAmounts(o, path+".limits", r.Limits)
	errs = append(errs, checkAmounts(o, path+".requests", r.Requests)...)
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		limit, limited := r.Limits[name]
		request := r.Requests[name]
		if limited && request.Cmp(limit) > 0 {
			errs = append(errs, o.problem(fmt.Sprintf("%s.requests[%s]", path, name),
				"Invalid value: %q: must not exceed the limit of %s", request.String(), limit.String()))
		}
	}
	return errs
}

func checkAmounts(o object, path string, amounts corev1.ResourceList) Errors {
	var errs Errors
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		at := fmt.Sprintf("%s[%s]", path, name)
		for _, problem := range validation.IsQualifiedName(string(name)) {
			errs = append(errs, o.problem(at, "Invalid value: %s", problem))
		}
		amount := amounts[name]
		if problem := wrongAmount(name, amount); problem != "" {
			errs = append(errs, o.problem(at, "Invalid value: %q: %s", amount.String(), problem))
		}
	}
	return errs
}

func wrongAmount(name corev1.ResourceName, amount resource.Quantity) string {
	limit := most
	if name == corev1.ResourceCPU {
		limit = mostCPU
	}
	switch {
	case amount.Sign() < 0:
		return "must not be negative"
	case amount.Cmp(limit) > 0:
		return "must fit 64 bits: at most " + limit.String()
	}
	return ""
}
