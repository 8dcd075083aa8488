package capacity

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// DisruptionBudget is what the core keeps of a PodDisruptionBudget. It is never changed after it was made.
type DisruptionBudget struct {
	Namespace, Name string
	// Allowed is how many of its pods may be evicted now (status.disruptionsAllowed).
	Allowed   int32
	selector  labels.Selector
	disrupted map[string]metav1.Time // pods that the API server has counted as evicted already
}

// NewDisruptionBudget reads a PodDisruptionBudget. One whose selector does not parse protects nobody.
func NewDisruptionBudget(b *policyv1.PodDisruptionBudget) *DisruptionBudget {
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	return &DisruptionBudget{
		Namespace: b.Namespace, Name: b.Name, Allowed: b.Status.DisruptionsAllowed,
		selector: selector, disrupted: b.Status.DisruptedPods,
	}
}

// Protects says whether evicting a pod takes from this budget, as the Eviction API judges it: an empty selector protects
// every pod of its namespace there, where the scheduler's own preemption takes it for nobody's. A pod whose eviction was
// counted already takes nothing more.
func (b *DisruptionBudget) Protects(p *Pod) bool {
	if p.Namespace != b.Namespace || !b.selector.Matches(p.Labels) {
		return false
	}
	_, counted := b.disrupted[p.Name]
	return !counted
}

// disruptionBudgets are kept by name; nobody but View reads them, so a change of one wakes nobody.
type disruptionBudgets map[types.NamespacedName]*DisruptionBudget

// SetDisruptionBudget takes in a PodDisruptionBudget.
func (l *Live) SetDisruptionBudget(b *policyv1.PodDisruptionBudget) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budgets[types.NamespacedName{Namespace: b.Namespace, Name: b.Name}] = NewDisruptionBudget(b)
}

// ForgetDisruptionBudget drops a PodDisruptionBudget that was deleted.
func (l *Live) ForgetDisruptionBudget(namespace, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.budgets, types.NamespacedName{Namespace: namespace, Name: name})
}

func (b disruptionBudgets) sorted() []*DisruptionBudget {
	all := slices.Collect(maps.Values(b))
	slices.SortFunc(all, func(x, y *DisruptionBudget) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
	return all
}
