// Package v1alpha1 holds Muster's API: NodePool, NodeClaim, Provider and Host, all cluster-scoped in the group
// muster.sh. The types describe intent and observed state only; no rule of Muster's own is decided here, except what the
// API server itself can refuse (CEL and schema markers).
//
// +kubebuilder:object:generate=true
// +groupName=muster.sh
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every type in this package.
var GroupVersion = schema.GroupVersion{Group: "muster.sh", Version: "v1alpha1"}

// AddToScheme registers the types of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&NodePool{}, &NodePoolList{},
		&NodeClaim{}, &NodeClaimList{},
		&Provider{}, &ProviderList{},
		&Host{}, &HostList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
