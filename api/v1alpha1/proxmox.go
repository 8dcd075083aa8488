package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Proxmox says how machines are made on one Proxmox VE cluster. The Secret of spec.credentials holds an API token under
// the keys tokenID (user@realm!name) and tokenSecret.
//
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || self.clone == 'Full'",message="storage may be set only when clone is Full: a linked clone stays on its template's storage"
type Proxmox struct {
	// region names this Proxmox cluster in providerID (proxmox://<region>/<vmid>), as the Proxmox cloud controller manager
	// is told it.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`

	// vmids is the range of VM numbers that belongs to this Provider alone.
	VMIDs VMIDRange `json:"vmids"`

	// template is what machines are cloned from. Where several templates fit, each is used on its own host.
	Template ProxmoxTemplate `json:"template"`

	// clone is Linked (fast, on the template's storage) or Full.
	// +kubebuilder:validation:Enum=Linked;Full
	// +kubebuilder:default=Linked
	// +optional
	Clone string `json:"clone,omitempty"`

	// storage for the disks of a full clone; the template's own unless given.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Storage string `json:"storage,omitempty"`

	// pool is the Proxmox resource pool that machines are put into. A token without rights on all VMs needs one.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Pool string `json:"pool,omitempty"`

	// placement says which host a machine is made on.
	// +kubebuilder:default={}
	// +optional
	Placement ProxmoxPlacement `json:"placement,omitempty"`

	// maxClonesPerHost is how many clones may be made at once from one host's templates.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=4
	// +optional
	MaxClonesPerHost int32 `json:"maxClonesPerHost,omitempty"`

	// maxClonesPerStorage is how many clones may be made at once on one storage.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=8
	// +optional
	MaxClonesPerStorage int32 `json:"maxClonesPerStorage,omitempty"`

	// cpuType such as host or x86-64-v3; the template's own unless given.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	CPUType string `json:"cpuType,omitempty"`

	// networks replace the template's network devices net0, net1 and so on.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Networks []ProxmoxNetwork `json:"networks,omitempty"`

	// tags are put on machines beside the template's and Muster's own.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.matches('^[a-z0-9_][a-z0-9_+.-]*$') && !t.startsWith('muster'))",message="a tag has lower-case letters, digits and _-+. and does not begin with muster"
	// +kubebuilder:validation:items:MaxLength=60
	// +listType=set
	// +optional
	Tags []string `json:"tags,omitempty"`

	// description is the first line of a machine's notes.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^[^\n\r]*$`
	// +optional
	Description string `json:"description,omitempty"`

	// cloudInit fills the template's cloud-init drive.
	// +optional
	CloudInit *ProxmoxCloudInit `json:"cloudInit,omitempty"`

	// vmOptions are further settings of the VM by their name in the Proxmox API, for example balloon or machine. What
	// Muster sets itself cannot be set here.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['name','cores','memory','tags','description','smbios1','vmid','node','digest','delete','revert','skiplock','force','lock','template','protection','cpu']))",message="Muster sets name, cores, memory, cpu, tags, description and smbios1 itself, and lock, template, protection, digest, delete, revert, force and skiplock have no place here"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 1024)",message="a value has at most 1024 characters"
	// +optional
	VMOptions map[string]string `json:"vmOptions,omitempty"`
}

// VMIDRange is min to max, both included.
//
// +kubebuilder:validation:XValidation:rule="self.min <= self.max",message="min must not exceed max"
type VMIDRange struct {
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	Min int32 `json:"min"`
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	Max int32 `json:"max"`
}

// ProxmoxTemplate chooses templates by exactly one of these.
//
// +kubebuilder:validation:XValidation:rule="(has(self.id) ? 1 : 0) + (has(self.name) ? 1 : 0) + (has(self.tag) ? 1 : 0) == 1",message="exactly one of id, name and tag must be set"
type ProxmoxTemplate struct {
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=999999999
	// +optional
	ID int32 `json:"id,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Name string `json:"name,omitempty"`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=60
	// +optional
	Tag string `json:"tag,omitempty"`
}

// PlacementStrategy ranks the hosts that have room.
//
// +kubebuilder:validation:Enum=spread;maxMemory;maxCPU;balanced;roundRobin;packed
type PlacementStrategy string

// The strategies.
const (
	PlacementSpread     PlacementStrategy = "spread"     // fewest machines of this Provider
	PlacementMaxMemory  PlacementStrategy = "maxMemory"  // most memory left
	PlacementMaxCPU     PlacementStrategy = "maxCPU"     // most cpu left
	PlacementBalanced   PlacementStrategy = "balanced"   // largest share of both left
	PlacementRoundRobin PlacementStrategy = "roundRobin" // one after the other
	PlacementPacked     PlacementStrategy = "packed"     // least memory left that suffices
)

// ProxmoxPlacement says which host a machine is made on. Hosts that are offline are left out.
type ProxmoxPlacement struct {
	// +kubebuilder:default=balanced
	// +optional
	Strategy PlacementStrategy `json:"strategy,omitempty"`
	// hosts are the only ones used; all unless given.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Hosts []string `json:"hosts,omitempty"`
	// excludedHosts are not used for new machines.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	ExcludedHosts []string `json:"excludedHosts,omitempty"`
	// minFree is the cpu and memory that stay free on each host.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=2
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory'] && !quantity(string(self[k])).isLessThan(quantity('0')) && quantity(string(self[k])).isLessThan(quantity('1P')))",message="minFree has cpu and memory, not negative, and less than 1P"
	// +optional
	MinFree corev1.ResourceList `json:"minFree,omitempty"`
	// overcommit says how much of a host may be promised: cpu 4 means four virtual for each core. 1 unless given.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=2
	// +kubebuilder:validation:XValidation:rule="self.all(k, k in ['cpu', 'memory'] && quantity(string(self[k])).isGreaterThan(quantity('0')) && !quantity(string(self[k])).isGreaterThan(quantity('100')))",message="overcommit has cpu and memory, greater than 0 and at most 100"
	// +optional
	Overcommit corev1.ResourceList `json:"overcommit,omitempty"`
	// memoryOverhead is what the host needs for one machine beside its memory.
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('0')) && quantity(string(self)).isLessThan(quantity('1P'))",message="memoryOverhead must not be negative, and less than 1P"
	// +optional
	MemoryOverhead *resource.Quantity `json:"memoryOverhead,omitempty"`
	// antiAffinity keeps the machines of one NodePool apart: Preferred puts them where the fewest of them are, Required
	// allows one on a host.
	// +kubebuilder:validation:Enum=None;Preferred;Required
	// +kubebuilder:default=None
	// +optional
	AntiAffinity string `json:"antiAffinity,omitempty"`
}

// ProxmoxNetwork is one network device.
type ProxmoxNetwork struct {
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9_.]*$`
	// +kubebuilder:validation:MaxLength=15
	Bridge string `json:"bridge"`
	// +kubebuilder:validation:Enum=virtio;e1000;e1000e;rtl8139;vmxnet3
	// +kubebuilder:default=virtio
	// +optional
	Model string `json:"model,omitempty"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=4094
	// +optional
	VLAN int32 `json:"vlan,omitempty"`
	// macPrefix is the first three bytes of the device's address, for example BC:24:11; the rest is derived from the VM's
	// number, so that a VM number has always the same address.
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){2}$`
	// +optional
	MACPrefix string `json:"macPrefix,omitempty"`
	// +optional
	Firewall bool `json:"firewall,omitempty"`
}

// ProxmoxCloudInit are the fields that Proxmox writes into a cloud-init drive. Nothing of it is secret.
type ProxmoxCloudInit struct {
	// +kubebuilder:validation:MaxLength=64
	// +optional
	User string `json:"user,omitempty"`
	// sshKeys are public keys, one each.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	SSHKeys []string `json:"sshKeys,omitempty"`
	// ipConfig of each network device in turn, for example ip=dhcp.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=atomic
	// +optional
	IPConfig []string `json:"ipConfig,omitempty"`
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Nameserver string `json:"nameserver,omitempty"`
	// +kubebuilder:validation:MaxLength=256
	// +optional
	SearchDomain string `json:"searchDomain,omitempty"`
}
