package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Proxmox says how machines are made on one Proxmox VE cluster. The Secret of spec.credentials holds an API token under
// the keys tokenID (user@realm!name) and tokenSecret.
//
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || self.clone == 'Full'",message="storage may be set only when clone is Full: a linked clone stays on its template's storage"
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.netboot)",message="exactly one of template and netboot must be set"
// +kubebuilder:validation:XValidation:rule="!has(self.netboot) || (has(self.networks) && size(self.networks) > 0)",message="networks is required with netboot: a machine boots from its first network"
// +kubebuilder:validation:XValidation:rule="!(has(self.join) && has(self.cloudInit))",message="join and cloudInit exclude each other: the machine would find two cloud-init drives"
type Proxmox struct {
	// region names this Proxmox cluster in providerID (proxmox://<region>/<vmid>), as the Proxmox cloud controller manager
	// is told it.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9_.]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`

	// endpoints are further hosts of the same cluster, as URLs like spec.endpoint. Where one cannot be reached the next one is
	// asked; what may have been carried out is asked of no other.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^https://[^\s]+$`
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=set
	// +optional
	Endpoints []string `json:"endpoints,omitempty"`

	// vmids is the range of VM numbers that belongs to this Provider alone.
	VMIDs VMIDRange `json:"vmids"`

	// template is what machines are cloned from. Where several templates fit, each is used on its own host.
	// +optional
	Template ProxmoxTemplate `json:"template,omitzero"`

	// netboot makes machines without a template, which boot from their first network.
	// +optional
	Netboot *ProxmoxNetboot `json:"netboot,omitempty"`

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

	// shutdownTimeout is how long the guest of a machine that is restarted or kept has to shut down before its power is taken away; 0s
	// takes it at once. A machine that is destroyed is not asked to shut down.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) == duration('0s') || duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="shutdownTimeout must be 0s, or at least 1s and at most 1h"
	// +kubebuilder:default="3m"
	// +optional
	ShutdownTimeout *metav1.Duration `json:"shutdownTimeout,omitempty"`

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

	// join gives each machine user-data of its own on a drive that is taken away when its node has registered.
	// +optional
	Join *ProxmoxJoin `json:"join,omitempty"`

	// hostLabels say what Proxmox itself has no place for, for placement.hostSelector: the room, the rack, a graphics card.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=host
	// +optional
	HostLabels []ProxmoxHostLabels `json:"hostLabels,omitempty"`

	// vmOptions are further settings of the VM by their name in the Proxmox API, for example balloon or machine. What
	// Muster sets itself cannot be set here.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['name','cores','memory','tags','description','smbios1','vmid','node','digest','delete','revert','skiplock','force','lock','template','protection','cpu']))",message="Muster sets name, cores, memory, cpu, tags, description and smbios1 itself, and lock, template, protection, digest, delete, revert, force and skiplock have no place here"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 1024)",message="a value has at most 1024 characters"
	// +optional
	VMOptions map[string]string `json:"vmOptions,omitempty"`
}

// ProxmoxMachine are a NodePool's own settings of its machines. What is set here replaces the Provider's; vmOptions are put
// beside the Provider's and win by name.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.template) && has(self.netboot))",message="template and netboot exclude each other"
// +kubebuilder:validation:XValidation:rule="!(has(self.join) && has(self.cloudInit))",message="join and cloudInit exclude each other: the machine would find two cloud-init drives"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || (has(self.clone) && self.clone == 'Full')",message="storage may be set only when clone is Full: a linked clone stays on its template's storage"
type ProxmoxMachine struct {
	// template replaces the Provider's template or netboot.
	// +optional
	Template *ProxmoxTemplate `json:"template,omitempty"`
	// netboot replaces the Provider's template or netboot.
	// +optional
	Netboot *ProxmoxNetboot `json:"netboot,omitempty"`
	// clone is Linked or Full.
	// +kubebuilder:validation:Enum=Linked;Full
	// +optional
	Clone string `json:"clone,omitempty"`
	// storage for the disks of a full clone.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Storage string `json:"storage,omitempty"`
	// placement replaces the Provider's whole placement.
	// +optional
	Placement *ProxmoxPlacement `json:"placement,omitempty"`
	// cpuType such as host or x86-64-v3.
	// +kubebuilder:validation:MaxLength=100
	// +optional
	CPUType string `json:"cpuType,omitempty"`
	// networks replace net0, net1 and so on.
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
	// cloudInit replaces the Provider's cloudInit or join.
	// +optional
	CloudInit *ProxmoxCloudInit `json:"cloudInit,omitempty"`
	// join replaces the Provider's cloudInit or join.
	// +optional
	Join *ProxmoxJoin `json:"join,omitempty"`
	// vmOptions are further settings of the VM by their name in the Proxmox API.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['name','cores','memory','tags','description','smbios1','vmid','node','digest','delete','revert','skiplock','force','lock','template','protection','cpu']))",message="Muster sets name, cores, memory, cpu, tags, description and smbios1 itself, and lock, template, protection, digest, delete, revert, force and skiplock have no place here"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(self[k]) <= 1024)",message="a value has at most 1024 characters"
	// +optional
	VMOptions map[string]string `json:"vmOptions,omitempty"`
}

// ProxmoxNetboot makes a VM from nothing: a disk, if any, and the networks, of which the first one boots it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.diskSize) || has(self.storage)",message="diskSize has a meaning only with storage"
// +kubebuilder:validation:XValidation:rule="!has(self.bios) || self.bios != 'ovmf' || has(self.storage)",message="storage is required with ovmf: it keeps its settings on a disk"
// +kubebuilder:validation:XValidation:rule="!has(self.bootOrder) || self.bootOrder != 'DiskFirst' || has(self.storage)",message="bootOrder DiskFirst needs storage: there is no disk without it"
type ProxmoxNetboot struct {
	// storage for the disk; without it a machine has none.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	// +optional
	Storage string `json:"storage,omitempty"`
	// diskSize of machines whose shape has no ephemeral-storage; 32Gi unless given.
	// +kubebuilder:validation:XValidation:rule="!quantity(string(self)).isLessThan(quantity('1Gi')) && quantity(string(self)).isLessThan(quantity('1P'))",message="diskSize must be at least 1Gi and less than 1P"
	// +optional
	DiskSize *resource.Quantity `json:"diskSize,omitempty"`
	// bootOrder is NetworkFirst (the boot server says each time what is booted) or DiskFirst (an empty disk is passed over,
	// so that the network installs it once).
	// +kubebuilder:validation:Enum=NetworkFirst;DiskFirst
	// +kubebuilder:default=NetworkFirst
	// +optional
	BootOrder string `json:"bootOrder,omitempty"`
	// +kubebuilder:validation:Enum=seabios;ovmf
	// +kubebuilder:default=seabios
	// +optional
	BIOS string `json:"bios,omitempty"`
}

// NetbootDiskFirst is the value of netboot.bootOrder that tries the disk first.
const NetbootDiskFirst = "DiskFirst"

// ProxmoxJoin is what a machine reads when it first boots. It is on an ISO image of its own, with the label cidata, which is
// taken out and removed when the machine's node has registered, and whenever the machine goes.
type ProxmoxJoin struct {
	// templates names the Secret whose keys user-data and, where needed, meta-data and network-config are Go templates.
	Templates SecretReference `json:"templates"`
	// format says who reads the user-data. What does not look like it is refused before a machine is started.
	// +kubebuilder:validation:Enum=CloudInit;Ignition;Talos
	// +kubebuilder:default=CloudInit
	// +optional
	Format string `json:"format,omitempty"`
	// storage takes the images; its content must include iso. Who may read it can read what is in them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Storage string `json:"storage"`
	// device that the image is put into; the template's cloud-init drive or else ide2 unless given.
	// +kubebuilder:validation:Pattern=`^(ide[0-3]|sata[0-5]|scsi[0-9]|scsi[12][0-9]|scsi30)$`
	// +optional
	Device string `json:"device,omitempty"`
	// token makes a bootstrap token for each machine ({{.Token}} in the templates), which is deleted when the machine has
	// joined. Without it none is made.
	// +optional
	Token *ProxmoxJoinToken `json:"token,omitempty"`
}

// ProxmoxJoinToken is a bootstrap token as kubeadm makes them.
type ProxmoxJoinToken struct {
	// ttl is when a token ends that nobody deleted; at most 30m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('30m')",message="ttl must be at least 1m and at most 30m"
	// +kubebuilder:default="20m"
	// +optional
	TTL *metav1.Duration `json:"ttl,omitempty"`
	// groups that the machine is let in as, beside system:bootstrappers; kubeadm's unless given.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=275
	// +kubebuilder:validation:items:Pattern=`^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$`
	// +kubebuilder:default={"system:bootstrappers:kubeadm:default-node-token"}
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`
}

// ProxmoxHostLabels are the operator's own labels of one host.
type ProxmoxHostLabels struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Host string `json:"host"`
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]string `json:"labels"`
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
	// hostSelector leaves only hosts that have all of these labels in the Provider's hostLabels.
	// +kubebuilder:validation:MaxProperties=32
	// +optional
	HostSelector map[string]string `json:"hostSelector,omitempty"`
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
