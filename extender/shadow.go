package extender

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity"
)

// bystander vetoes no node and prefers none: with it, every verb answers what the scheduler would do without an extender.
// It knows no cluster, so that its answers need neither warm caches nor a settled lead.
type bystander struct{ Core }

// Veto implements Core.
func (bystander) Veto(*corev1.Pod, string) capacity.Reason { return capacity.Reason{} }

// VetoObject implements Core.
func (bystander) VetoObject(*corev1.Pod, *corev1.Node) capacity.Reason { return capacity.Reason{} }

// Preferences implements Core.
func (bystander) Preferences(_ *corev1.Pod, nodes []string, _ int64) []int64 {
	return make([]int64, len(nodes))
}
