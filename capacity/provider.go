package capacity

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Trouble is why a Provider is not asked for a machine now: CamelCase, stable. Empty where nothing stands in the way.
type Trouble string

// The troubles of a Provider.
const (
	ProviderMissing  Trouble = "ProviderMissing"
	ProviderDeleted  Trouble = "ProviderDeleted"  // it is being deleted: nothing new is made by it
	ProviderNotReady Trouble = "ProviderNotReady" // it did not list its machines when it was asked last
)

// ProviderTrouble judges the Provider of this name; nil is one that there is not. One that was not asked yet counts as
// answering. The text names it.
func ProviderTrouble(name string, p *v1alpha1.Provider) (why Trouble, text string) {
	switch {
	case p == nil:
		return ProviderMissing, name + " does not exist"
	case p.DeletionTimestamp != nil:
		return ProviderDeleted, name + " is being deleted"
	case meta.IsStatusConditionFalse(p.Status.Conditions, v1alpha1.ConditionReady):
		return ProviderNotReady, name + " (" + meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady).Reason + ")"
	}
	return "", ""
}

// Answers says whether the Provider of a pool can be asked to take a machine back. One that is being deleted can, as long as
// Muster's finalizer keeps it.
func (v *View) Answers(pool *v1alpha1.NodePool) bool {
	p := v.Providers[pool.Spec.Provider]
	switch why, _ := ProviderTrouble(pool.Spec.Provider, p); why {
	case "":
		return true
	case ProviderDeleted:
		return slices.Contains(p.Finalizers, v1alpha1.ProviderFinalizer) &&
			!meta.IsStatusConditionFalse(p.Status.Conditions, v1alpha1.ConditionReady)
	}
	return false
}
