package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PowerInterface is how a host is switched on and off.
//
// +kubebuilder:validation:Enum=redfish;ipmi;wol
type PowerInterface string

// The power interfaces.
const (
	PowerRedfish PowerInterface = "redfish"
	PowerIPMI    PowerInterface = "ipmi"
	PowerWoL     PowerInterface = "wol"
)

// Host is one bare-metal machine that can be powered on for a NodeClaim.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mhost,categories=muster
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Interface",type=string,JSONPath=`.spec.power.interface`
// +kubebuilder:printcolumn:name="Rack",type=string,JSONPath=`.spec.rack`
// +kubebuilder:printcolumn:name="Power",type=string,JSONPath=`.status.power`
// +kubebuilder:printcolumn:name="Claim",type=string,JSONPath=`.status.claim`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Host struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec HostSpec `json:"spec"`
	// +optional
	Status HostStatus `json:"status,omitempty"`
}

// HostSpec describes the hardware and how to reach its power switch.
type HostSpec struct {
	// provider names the Provider whose pools may claim this host.
	// +kubebuilder:validation:MinLength=1
	Provider string `json:"provider"`

	Power Power `json:"power"`

	// rack is used to spread a pool over racks.
	// +optional
	Rack string `json:"rack,omitempty"`

	// resources is the host's capacity: cpu, memory, GPUs, storage, any.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="'cpu' in self && 'memory' in self",message="resources must name cpu and memory"
	// +kubebuilder:validation:XValidation:rule="self.all(k, quantity(string(self[k])).isGreaterThan(quantity('0')) && quantity(string(self[k])).isLessThan(quantity('1P')))",message="resources must be greater than zero and less than 1P"
	Resources corev1.ResourceList `json:"resources"`

	// systemUUID is what the host's kubelet reports, if known.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`

	// quarantined keeps the host from being claimed.
	// +optional
	Quarantined bool `json:"quarantined,omitempty"`
}

// Power says how to switch the host.
//
// +kubebuilder:validation:XValidation:rule="self.interface == 'wol' || has(self.address)",message="address is required when interface is redfish or ipmi"
// +kubebuilder:validation:XValidation:rule="self.interface == 'wol' || has(self.credentials)",message="credentials is required when interface is redfish or ipmi"
// +kubebuilder:validation:XValidation:rule="self.interface != 'wol' || has(self.mac)",message="mac is required when interface is wol"
// +kubebuilder:validation:XValidation:rule="self.interface != 'wol' || !has(self.address)",message="address has no meaning when interface is wol"
type Power struct {
	Interface PowerInterface `json:"interface"`
	// address of the BMC: a URL for redfish, host or host:port for ipmi.
	// +optional
	Address string `json:"address,omitempty"`
	// mac of the interface that listens for magic packets.
	// +kubebuilder:validation:Pattern=`^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$`
	// +optional
	MAC string `json:"mac,omitempty"`
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// HostStatus is what Muster knows of a host.
type HostStatus struct {
	// power is the last state read back: On, Off or Unknown.
	// +kubebuilder:validation:Enum=On;Off;Unknown
	// +optional
	Power string `json:"power,omitempty"`
	// claim is the NodeClaim that has this host.
	// +optional
	Claim string `json:"claim,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// HostList is a list of Hosts.
//
// +kubebuilder:object:root=true
type HostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Host `json:"items"`
}
