package preemption

import "github.com/muster-sh/muster/capacity"

// budgets are the PodDisruptionBudgets and how many disruptions each still allows in this decision.
type budgets struct {
	all  []*capacity.DisruptionBudget
	left []int32
}

func newBudgets(all []*capacity.DisruptionBudget) *budgets {
	b := &budgets{all: all, left: make([]int32, len(all))}
	for i, budget := range all {
		b.left[i] = budget.Allowed
	}
	return b
}

// split tells the pods whose eviction would exceed a budget, if all were evicted in their order, from the others
// (filterPodsWithPDBViolation). The order is kept.
func (b *budgets) split(pods []*capacity.Pod) (protected, others []*capacity.Pod) {
	left := append([]int32(nil), b.left...)
	for _, p := range pods {
		if spend(b.all, left, p) {
			others = append(others, p)
		} else {
			protected = append(protected, p)
		}
	}
	return protected, others
}

// spend counts a pod that will be evicted.
func (b *budgets) spend(p *capacity.Pod) { spend(b.all, b.left, p) }

// spend says whether every budget of a pod still allowed it.
func spend(all []*capacity.DisruptionBudget, left []int32, p *capacity.Pod) bool {
	allowed := true
	for i, budget := range all {
		if budget.Protects(p) {
			left[i]--
			allowed = allowed && left[i] >= 0
		}
	}
	return allowed
}

// short is a budget that allows some of the victims' evictions and not all: begun, they would end halfway. Nil when there
// is none; a budget that allows nothing refuses the first.
func (b *budgets) short(victims []*capacity.Pod) *capacity.DisruptionBudget {
	for i, budget := range b.all {
		wanted := int32(0)
		for _, v := range victims {
			if budget.Protects(v) {
				wanted++
			}
		}
		if b.left[i] > 0 && b.left[i] < wanted {
			return budget
		}
	}
	return nil
}
