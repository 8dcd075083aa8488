package policy

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Spare says how many nodes a pool keeps ready without pods beside so many that have some. What cannot be read keeps none.
func Spare(p *v1alpha1.NodePool, used int) int {
	if p.Spec.Spare == nil {
		return 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(p.Spec.Spare, used, true)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
