package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Power",type=string,JSONPath=`.status.power`
// +kubebuilder:printcolumn:name="Claim",type=string,JSONPath=`.status.claim.name`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Quarantined-Until",type=string,JSONPath=`.status.quarantine.until`,priority=1
// +kubebuilder:printcolumn:name="Strikes",type=integer,JSONPath=`.status.strikes`,priority=1
// +kubebuilder:printcolumn:name="Cycles",type=integer,JSONPath=`.status.wear.powerCycles`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.claim) || has(oldSelf.status.switchedOn) && oldSelf.status.switchedOn) || self.spec.provider == oldSelf.spec.provider",fieldPath=".spec.provider",message="spec.provider cannot change while a NodeClaim has the host (status.claim) or Muster has its power on: release the claim first"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.claim) || has(oldSelf.status.switchedOn) && oldSelf.status.switchedOn) || self.spec.power.interface == oldSelf.spec.power.interface",fieldPath=".spec.power.interface",message="spec.power.interface cannot change while a NodeClaim has the host (status.claim) or Muster has its power on: release the claim first"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.claim) || has(oldSelf.status.switchedOn) && oldSelf.status.switchedOn) || has(self.spec.power.address) == has(oldSelf.spec.power.address) && (!has(self.spec.power.address) || self.spec.power.address == oldSelf.spec.power.address)",fieldPath=".spec.power.address",message="spec.power.address cannot change while a NodeClaim has the host (status.claim) or Muster has its power on: release the claim first"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.claim) || has(oldSelf.status.switchedOn) && oldSelf.status.switchedOn) || has(self.spec.power.system) == has(oldSelf.spec.power.system) && (!has(self.spec.power.system) || self.spec.power.system == oldSelf.spec.power.system)",fieldPath=".spec.power.system",message="spec.power.system cannot change while a NodeClaim has the host (status.claim) or Muster has its power on: release the claim first"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !(has(oldSelf.status.claim) || has(oldSelf.status.switchedOn) && oldSelf.status.switchedOn) || has(self.spec.power.mac) == has(oldSelf.spec.power.mac) && (!has(self.spec.power.mac) || self.spec.power.mac == oldSelf.spec.power.mac)",fieldPath=".spec.power.mac",message="spec.power.mac cannot change while a NodeClaim has the host (status.claim) or Muster has its power on: release the claim first"
type Host struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec HostSpec `json:"spec"`
	// +optional
	Status HostStatus `json:"status,omitempty"`
}

// HostSpec describes the hardware and how to reach its power switch.
//
// +kubebuilder:validation:XValidation:rule="self.power.interface == 'redfish' || has(self.systemUUID) || has(self.providerID)",message="systemUUID or providerID is required when interface is ipmi or wol: nothing else tells which Node is this host"
type HostSpec struct {
	// provider names the Provider whose pools may claim this host.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Provider string `json:"provider"`

	// pools may claim this host; without any, all pools of the provider may.
	// +kubebuilder:validation:MaxItems=64
	// +listType=set
	// +optional
	Pools []string `json:"pools,omitempty"`

	Power Power `json:"power"`

	// rack is used to spread a pool over racks; {{.Rack}} in the labels of a pool's nodes.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Rack string `json:"rack,omitempty"`

	// zone is {{.Zone}} in the labels of a pool's nodes; the rack where it is not given.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Zone string `json:"zone,omitempty"`

	// resources is the host's capacity: cpu, memory, GPUs, storage, any.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="'cpu' in self && 'memory' in self",message="resources must name cpu and memory"
	// +kubebuilder:validation:XValidation:rule="self.all(k, quantity(string(self[k])).isGreaterThan(quantity('0')) && quantity(string(self[k])).isLessThan(quantity('1P')))",message="resources must be greater than zero and less than 1P"
	Resources corev1.ResourceList `json:"resources"`

	// systemUUID is what the host's kubelet reports. Without it, what a Redfish BMC says is used.
	// +kubebuilder:validation:Pattern=`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`

	// providerID is the spec.providerID of the host's Node, where something sets one (k3s://name, for example).
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ProviderID string `json:"providerID,omitempty"`

	// quarantined keeps the host from being claimed.
	// +optional
	Quarantined bool `json:"quarantined,omitempty"`
}

// BootDevice is what a host boots from the next time, once.
//
// +kubebuilder:validation:Enum=PXE;Disk;UEFIHTTP
type BootDevice string

// The boot devices.
const (
	BootPXE      BootDevice = "PXE"
	BootDisk     BootDevice = "Disk"
	BootUEFIHTTP BootDevice = "UEFIHTTP"
)

// Auth is how Muster authenticates to a Redfish service.
//
// +kubebuilder:validation:Enum=Session;Basic
type Auth string

// The ways to authenticate.
const (
	AuthSession Auth = "Session"
	AuthBasic   Auth = "Basic"
)

// Power says how to switch the host.
//
// +kubebuilder:validation:XValidation:rule="self.interface == 'wol' || has(self.address)",message="address is required when interface is redfish or ipmi"
// +kubebuilder:validation:XValidation:rule="self.interface == 'wol' || has(self.credentials)",message="credentials is required when interface is redfish or ipmi"
// +kubebuilder:validation:XValidation:rule="self.interface != 'wol' || has(self.mac)",message="mac is required when interface is wol"
// +kubebuilder:validation:XValidation:rule="self.interface != 'wol' || !has(self.address)",message="address has no meaning when interface is wol"
// +kubebuilder:validation:XValidation:rule="self.interface != 'redfish' || !has(self.address) || self.address.startsWith('https://')",message="address is a https:// URL when interface is redfish"
// +kubebuilder:validation:XValidation:rule="self.interface == 'redfish' || (!has(self.system) && !has(self.auth) && !has(self.tls))",message="system, auth and tls have a meaning only when interface is redfish"
// +kubebuilder:validation:XValidation:rule="self.interface == 'ipmi' || !has(self.cipherSuites)",message="cipherSuites has a meaning only when interface is ipmi"
// +kubebuilder:validation:XValidation:rule="self.interface == 'wol' || (!has(self.broadcast) && !has(self.networkInterface))",message="broadcast and networkInterface have a meaning only when interface is wol"
// +kubebuilder:validation:XValidation:rule="self.interface != 'wol' || !has(self.boot)",message="boot has no meaning when interface is wol: a magic packet chooses no device"
// +kubebuilder:validation:XValidation:rule="self.interface != 'ipmi' || !has(self.boot) || self.boot != 'UEFIHTTP'",message="ipmi has no boot device UEFIHTTP"
type Power struct {
	Interface PowerInterface `json:"interface"`
	// address of the BMC: a URL for redfish, host or host:port for ipmi.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^\s@?#]+$`
	// +optional
	Address string `json:"address,omitempty"`
	// mac of the interface that listens for magic packets.
	// +kubebuilder:validation:Pattern=`^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$`
	// +optional
	MAC string `json:"mac,omitempty"`
	// credentials names the Secret with username and password of the BMC; for wol with secureOn, six bytes as a MAC is
	// written, where the network card wants that password.
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`
	// +optional
	TLS *TLS `json:"tls,omitempty"`

	// system is the Id, UUID or SerialNumber of the system, where a BMC has several. Their order is never trusted.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	System string `json:"system,omitempty"`
	// auth at a Redfish service: Session (the default; Basic is used where there are no sessions) or Basic.
	// +optional
	Auth Auth `json:"auth,omitempty"`
	// boot is what the host boots from when Muster powers it on, that one time. Without it the host's own order holds.
	// +optional
	Boot BootDevice `json:"boot,omitempty"`
	// cipherSuites are tried in this order; asking the BMC for its list takes 10 s and more. The default is 17, then 3.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:XValidation:rule="self.all(s, s in [3, 8, 12, 17])",message="cipherSuites may be 3, 8, 12 and 17: the others lack authentication, integrity or encryption"
	// +listType=atomic
	// +optional
	CipherSuites []int32 `json:"cipherSuites,omitempty"`
	// broadcast is the address that magic packets are sent to, with an optional port (9); the default is 255.255.255.255.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Broadcast string `json:"broadcast,omitempty"`
	// networkInterface is the interface of Muster's own host that magic packets leave by.
	// +kubebuilder:validation:MaxLength=15
	// +optional
	NetworkInterface string `json:"networkInterface,omitempty"`
}

// HostState is where a host stands; docs/hosts.md has a heading for each.
//
// +kubebuilder:validation:Enum=Off;PoweringOn;Joining;Ready;Draining;Stopping;Stopped;PoweringOff;Error;Quarantined
type HostState string

// The states of a host. From PoweringOn to Error it belongs to a claim.
const (
	HostOff         HostState = "Off"         // free
	HostPoweringOn  HostState = "PoweringOn"  // claimed, and not yet seen on for long enough
	HostJoining     HostState = "Joining"     // on; its node is awaited
	HostReady       HostState = "Ready"       // its claim is ready
	HostDraining    HostState = "Draining"    // its claim drains
	HostStopping    HostState = "Stopping"    // its power is taken away for a restart, and it is not yet proven off
	HostStopped     HostState = "Stopped"     // off, until its claim has it started again
	HostPoweringOff HostState = "PoweringOff" // given back, and not yet proven off
	HostError       HostState = "Error"       // given up; kept for its claim to see
	HostQuarantined HostState = "Quarantined" // not to be claimed until the cool-down ends or an operator returns it
)

// HostStatus is what Muster knows of a host.
type HostStatus struct {
	// +optional
	State HostState `json:"state,omitempty"`
	// since is when the state was entered.
	// +optional
	Since *metav1.MicroTime `json:"since,omitempty"`
	// message is one line for people: what is happening now.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// power is the last state read back.
	// +kubebuilder:validation:Enum=On;Off;PoweringOn;PoweringOff;Unknown
	// +optional
	Power string `json:"power,omitempty"`
	// systemUUID is what the BMC says.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`
	// identity is what the machine was when its interface was first asked. No later reading changes it: what contradicts it is another
	// machine, and is not switched.
	// +optional
	Identity *MachineIdentity `json:"identity,omitempty"`
	// met is the machine that answered last, where it contradicts identity: nothing is switched until the recorded one answers again, or
	// an operator returns the host while no claim has it.
	// +optional
	Met *MachineIdentity `json:"met,omitempty"`

	// claim is the NodeClaim that has this host, released the last one that had it.
	// +optional
	Claim *HostClaim `json:"claim,omitempty"`
	// +optional
	Released *HostClaim `json:"released,omitempty"`

	// switchedOn says that Muster asked, or was about to ask, for power for the claim. Without it the power of a host is
	// somebody else's and is left alone.
	// +optional
	SwitchedOn bool `json:"switchedOn,omitempty"`
	// bootOverride is the boot device that Muster set and has not seen cleared since.
	// +optional
	BootOverride BootDevice `json:"bootOverride,omitempty"`
	// served says that the claim's node was ready once.
	// +optional
	Served bool `json:"served,omitempty"`
	// tries counts the power operations asked for in this state, lastTry is when the last one was.
	// +optional
	Tries int32 `json:"tries,omitempty"`
	// +optional
	LastTry *metav1.MicroTime `json:"lastTry,omitempty"`
	// errors counts failed calls in a row, lastError is the last one, without secrets.
	// +optional
	Errors int32 `json:"errors,omitempty"`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	LastError string `json:"lastError,omitempty"`

	// fault is why the host was given up for its claim, in CamelCase.
	// +optional
	Fault string `json:"fault,omitempty"`
	// strikes counts claims in a row that this host did not serve.
	// +optional
	Strikes int32 `json:"strikes,omitempty"`
	// +optional
	Quarantine *Quarantine `json:"quarantine,omitempty"`
	// returned is the value of the annotation muster.sh/return-host that was last honoured.
	// +optional
	Returned string `json:"returned,omitempty"`

	// +optional
	Wear Wear `json:"wear,omitempty"`

	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ConditionIdentified of a Host says whether its interface tells which machine it is. Without that Muster has no proof that it switches
// the right one off.
const ConditionIdentified = "Identified"

// ConditionPowerOffBlocked of a Host says that the gate does not permit its power to be taken away, or that nothing says whether it
// is off, and why.
const ConditionPowerOffBlocked = "PowerOffBlocked"

// HostClaim is a claim as its host remembers it.
type HostClaim struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// cluster is whose claim it is: the UID of the namespace kube-system.
	// +optional
	Cluster types.UID `json:"cluster,omitempty"`
	// +optional
	Pool string `json:"pool,omitempty"`
	// nodeName and nodeUID are the Node that registered for the claim.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
	// at is when the host was claimed.
	At metav1.MicroTime `json:"at"`
}

// Quarantine says why a host is not claimed.
type Quarantine struct {
	// reason in CamelCase.
	Reason string `json:"reason"`
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string           `json:"message,omitempty"`
	Since   metav1.MicroTime `json:"since"`
	// until is the end of the cool-down; without it only an operator ends the quarantine, by a new value of the host's
	// annotation muster.sh/return-host.
	// +optional
	Until *metav1.MicroTime `json:"until,omitempty"`
}

// Wear is what powering costs a host.
type Wear struct {
	// powerCycles counts how often Muster powered the host on.
	// +optional
	PowerCycles int64 `json:"powerCycles,omitempty"`
	// +optional
	LastOn *metav1.MicroTime `json:"lastOn,omitempty"`
	// +optional
	LastOff *metav1.MicroTime `json:"lastOff,omitempty"`
}

// HostList is a list of Hosts.
//
// +kubebuilder:object:root=true
type HostList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Host `json:"items"`
}
