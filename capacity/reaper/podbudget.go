package reaper

import (
	"fmt"

	"github.com/muster-sh/muster/capacity"
)

// podBudgets are the PodDisruptionBudgets, and how many evictions each still allows in this decision.
type podBudgets struct {
	byNamespace map[string][]*podBudget
}

type podBudget struct {
	*capacity.DisruptionBudget
	left int32
}

func newPodBudgets(all []*capacity.DisruptionBudget) podBudgets {
	b := podBudgets{byNamespace: map[string][]*podBudget{}}
	for _, budget := range all {
		b.byNamespace[budget.Namespace] = append(b.byNamespace[budget.Namespace], &podBudget{budget, budget.Allowed})
	}
	return b
}

// refuse names a budget that lets none of its pods here go now, or a pod that the Eviction API refuses because it has several.
// One that lets some go is no obstacle: the others follow when those are back elsewhere.
func (b podBudgets) refuse(pods []*capacity.Pod) string {
	for _, p := range pods {
		switch mine := b.of(p); {
		case len(mine) > 1:
			return fmt.Sprintf("pod %s has %d budgets, and the Eviction API takes no pod with more than one", p.Key(), len(mine))
		case len(mine) == 1 && mine[0].left <= 0:
			return fmt.Sprintf("budget %s keeps pod %s", mine[0].Name, p.Key())
		}
	}
	return ""
}

func (b podBudgets) spend(pods []*capacity.Pod) {
	for _, p := range pods {
		for _, budget := range b.of(p) {
			budget.left--
		}
	}
}

func (b podBudgets) of(p *capacity.Pod) (mine []*podBudget) {
	for _, budget := range b.byNamespace[p.Namespace] {
		if budget.Protects(p) {
			mine = append(mine, budget)
		}
	}
	return mine
}
