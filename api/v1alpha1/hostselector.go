package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// HostSelector picks Hosts by their labels, as a label selector does: all of its requirements have to hold.
//
// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) || has(self.matchExpressions)",message="a selector without requirements picks every host: leave it out"
type HostSelector struct {
	// matchLabels are labels that a Host must have.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="a label's key is a qualified name, for example rack or example.org/rack"
	// +optional
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`
	// matchExpressions are requirements on labels of a Host.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	MatchExpressions []HostRequirement `json:"matchExpressions,omitempty"`
}

// HostRequirement is one requirement on a label of a Host.
//
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn']) == has(self.values)",message="In and NotIn need values, Exists and DoesNotExist take none"
// +kubebuilder:validation:XValidation:rule="!format.qualifiedName().validate(self.key).hasValue()",message="key is a qualified name, for example example.org/generation"
type HostRequirement struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Values []LabelValue `json:"values,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
type LabelValue string

// Selector is what labels are asked with; a nil one takes everything.
func (s *HostSelector) Selector() (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	all := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for key, value := range s.MatchLabels {
		all.MatchLabels[key] = string(value)
	}
	for _, r := range s.MatchExpressions {
		one := metav1.LabelSelectorRequirement{Key: r.Key, Operator: r.Operator}
		for _, value := range r.Values {
			one.Values = append(one.Values, string(value))
		}
		all.MatchExpressions = append(all.MatchExpressions, one)
	}
	return metav1.LabelSelectorAsSelector(all)
}
