package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ProviderType names a kind of backend.
//
// +kubebuilder:validation:Enum=proxmox;redfish;ipmi;wol;sim
type ProviderType string

// The kinds of backends the API knows. A build says in the Provider's Ready condition when it has none of that kind.
const (
	ProviderProxmox ProviderType = "proxmox"
	ProviderRedfish ProviderType = "redfish"
	ProviderIPMI    ProviderType = "ipmi"
	ProviderWoL     ProviderType = "wol"
	ProviderSim     ProviderType = "sim"
)

// PowersHosts says whether Providers of this type make their machines of Hosts.
func (t ProviderType) PowersHosts() bool {
	return t == ProviderRedfish || t == ProviderIPMI || t == ProviderWoL
}

// Provider is one backend that makes machines or powers hosts.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mprov,categories=muster
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.spec.endpoint`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Provider struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec ProviderSpec `json:"spec"`
	// +optional
	Status ProviderStatus `json:"status,omitempty"`
}

// ProviderSpec says where the backend is and how to trust it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.sim) || self.type == 'sim'",message="sim may be set only when type is sim"
// +kubebuilder:validation:XValidation:rule="!has(self.sim) || !has(self.endpoint)",message="sim configures the simulator that is built in; it has no meaning with an endpoint"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || !has(self.endpoint) || self.endpoint.startsWith('https://')",message="tls has a meaning only with an https endpoint"
// +kubebuilder:validation:XValidation:rule="self.type != 'proxmox' || has(self.endpoint)",message="endpoint is required when type is proxmox"
// +kubebuilder:validation:XValidation:rule="self.type != 'proxmox' || has(self.credentials)",message="credentials is required when type is proxmox"
// +kubebuilder:validation:XValidation:rule="has(self.proxmox) == (self.type == 'proxmox')",message="proxmox is required when type is proxmox, and may be set only then"
// +kubebuilder:validation:XValidation:rule="self.type != 'proxmox' || !has(self.endpoint) || self.endpoint.startsWith('https://')",message="endpoint must be https when type is proxmox"
// +kubebuilder:validation:XValidation:rule="!has(self.proxmox) || !has(self.proxmox.endpoints) || !has(self.tls) || !has(self.tls.fingerprint)",message="tls.fingerprint pins the certificate of one host: use tls.caBundle with proxmox.endpoints"
// +kubebuilder:validation:XValidation:rule="!has(self.hosts) || self.type in ['redfish', 'ipmi', 'wol']",message="hosts may be set only when type is redfish, ipmi or wol"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['redfish', 'ipmi', 'wol']) || !(has(self.endpoint) || has(self.credentials) || has(self.tls))",message="endpoint, credentials and tls have no meaning when type is redfish, ipmi or wol: each Host has its own in spec.power"
// +kubebuilder:validation:XValidation:rule="self.type == oldSelf.type",message="type cannot change"
type ProviderSpec struct {
	Type ProviderType `json:"type"`

	// endpoint is the URL of the backend's API.
	// +kubebuilder:validation:Pattern=`^https?://[^\s]+$`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// credentials names the Secret that holds the backend's credentials.
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`

	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// proxmox says how machines are made; required when type is proxmox.
	// +optional
	Proxmox *Proxmox `json:"proxmox,omitempty"`

	// hosts are the rules by which Hosts are powered; they have a meaning when type is redfish, ipmi or wol.
	// +optional
	Hosts *HostRules `json:"hosts,omitempty"`

	// +optional
	Sim *Sim `json:"sim,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// TLS says which server certificate is trusted. Without it the system's roots are.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caBundle) && has(self.fingerprint))",message="caBundle and fingerprint exclude each other"
// +kubebuilder:validation:XValidation:rule="!has(self.insecureSkipVerify) || !self.insecureSkipVerify || !(has(self.caBundle) || has(self.fingerprint))",message="insecureSkipVerify would make caBundle and fingerprint meaningless"
type TLS struct {
	// caBundle holds PEM certificates.
	// +optional
	CABundle string `json:"caBundle,omitempty"`
	// fingerprint is the SHA-256 of the server's certificate, in hex with colons.
	// +kubebuilder:validation:Pattern=`^([0-9A-Fa-f]{2}:){31}[0-9A-Fa-f]{2}$`
	// +optional
	Fingerprint string `json:"fingerprint,omitempty"`
	// insecureSkipVerify trusts any server: whoever is between can read the credentials and act with them. Muster warns by
	// an event while it is set.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// Sim configures the simulator that is built in: machines with a boot time and failures, and no hardware.
type Sim struct {
	// seed makes a run repeatable.
	// +optional
	Seed int64 `json:"seed,omitempty"`
	// boot is how long a machine takes from its creation to its Node.
	// +kubebuilder:default={}
	// +optional
	Boot BootTime `json:"boot,omitempty"`
	// failures says what goes wrong, and how often.
	// +optional
	Failures SimFailures `json:"failures,omitempty"`
	// maxMachines is how many machines the simulated backend has room for; 0 is no bound.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxMachines int32 `json:"maxMachines,omitempty"`
}

// BootTime is drawn between min and max, near median.
//
// +kubebuilder:validation:XValidation:rule="(!has(self.min) || !has(self.median) || duration(self.min) <= duration(self.median)) && (!has(self.median) || !has(self.max) || duration(self.median) <= duration(self.max))",message="min, median and max must be in this order"
type BootTime struct {
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:default="20s"
	// +optional
	Min *metav1.Duration `json:"min,omitempty"`
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:default="45s"
	// +optional
	Median *metav1.Duration `json:"median,omitempty"`
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:default="2m"
	// +optional
	Max *metav1.Duration `json:"max,omitempty"`
}

// SimFailures are percentages of calls or machines.
type SimFailures struct {
	// create is how many creations are refused.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Create int32 `json:"create,omitempty"`
	// lost is how many creations work although their answer is an error.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Lost int32 `json:"lost,omitempty"`
	// neverJoin is how many machines never register a Node.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	NeverJoin int32 `json:"neverJoin,omitempty"`
}

// ProviderStatus is what Muster knows of a backend.
type ProviderStatus struct {
	// machines is the number of machines with our mark in the last complete listing.
	// +optional
	Machines int32 `json:"machines,omitempty"`
	// keptMachines were handed over when their pool was deleted with the annotation muster.sh/keep-nodes: they have no NodeClaim, and
	// Muster never stops or removes them.
	// +listType=map
	// +listMapKey=claimUID
	// +optional
	KeptMachines []KeptMachine `json:"keptMachines,omitempty"`
	// conditions: Ready says whether the backend answers, and why not; Deleting says, while the Provider is being deleted, what
	// still needs it.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// KeptMachine is a machine that carries Muster's mark and is the user's.
type KeptMachine struct {
	// claimUID is the UID of the NodeClaim that the machine was made for.
	ClaimUID types.UID `json:"claimUID"`
	// claim is the name of that NodeClaim.
	Claim string `json:"claim"`
	// id is the provider's own name for the machine.
	// +optional
	ID string `json:"id,omitempty"`
	// node is the name of the machine's Node.
	// +optional
	Node string `json:"node,omitempty"`
	// since is when it was handed over.
	Since metav1.Time `json:"since"`
}

// Keeps says whether the machine of this claim is the user's.
func (s *ProviderStatus) Keeps(claim types.UID) bool {
	return slices.ContainsFunc(s.KeptMachines, func(m KeptMachine) bool { return m.ClaimUID == claim })
}

// ProviderList is a list of Providers.
//
// +kubebuilder:object:root=true
type ProviderList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Provider `json:"items"`
}
