package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeClaim is one machine, from the intent to have it until it is proven gone. Its name is a slot of its pool
// (<pool>-000 up to maxNodes-1), so the API server itself refuses one machine too many; its UID is the machine's
// identity at the provider.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mclaim,categories=muster
// +kubebuilder:printcolumn:name="Pool",type=string,JSONPath=`.spec.pool`
// +kubebuilder:printcolumn:name="Shape",type=string,JSONPath=`.spec.shape`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.nodeName`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Machine",type=string,JSONPath=`.status.providerID`,priority=1
// +kubebuilder:printcolumn:name="Attempts",type=integer,JSONPath=`.status.attempts`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodeClaimSpec `json:"spec"`
	// +optional
	Status NodeClaimStatus `json:"status,omitempty"`
}

// NodeClaimSpec is the machine asked for. It is copied from the pool when the claim is made: a later change of the pool
// does not change a machine that exists.
//
// +kubebuilder:validation:XValidation:rule="self.pool == oldSelf.pool && self.provider == oldSelf.provider && self.shape == oldSelf.shape && self.resources == oldSelf.resources",message="pool, provider, shape and resources of a claim cannot change"
type NodeClaimSpec struct {
	// +kubebuilder:validation:MinLength=1
	Pool string `json:"pool"`
	// +kubebuilder:validation:MinLength=1
	Provider string `json:"provider"`
	// +kubebuilder:validation:MinLength=1
	Shape string `json:"shape"`

	// resources is the machine's capacity.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	Resources corev1.ResourceList `json:"resources"`

	// overhead is what of the capacity is not allocatable.
	// +optional
	Overhead corev1.ResourceList `json:"overhead,omitempty"`

	// allocatable is what the node is expected to offer, where nodes like it turned out to offer less than resources less
	// overhead.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=64
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// labels and annotations of the node, templates not yet filled in.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// +listType=atomic
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`
	// +listType=atomic
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`

	// hosts picks the Hosts that may serve this claim.
	// +optional
	Hosts *HostSelector `json:"hosts,omitempty"`

	// keep says that the machine is stopped and kept when it is given back, as the pool's scaleDown.release says.
	// +optional
	Keep bool `json:"keep,omitempty"`

	// proxmox are the pool's own settings of its machines.
	// +optional
	Proxmox *ProxmoxMachine `json:"proxmox,omitempty"`

	// registrationTimeout and maxAttempts as in the pool's scaleUp.
	RegistrationTimeout metav1.Duration `json:"registrationTimeout"`
	// +kubebuilder:validation:Minimum=1
	MaxAttempts int32 `json:"maxAttempts"`

	// reserved lists the pods this machine was ordered for; its room is kept for them.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	// +optional
	Reserved []PodReference `json:"reserved,omitempty"`

	// orderedFor are hashes of what the pods ask for that this machine was ordered for, as long as it has neither taken
	// such a pod nor been found to be in vain for them.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	// +optional
	OrderedFor []string `json:"orderedFor,omitempty"`

	// replaces are the claims whose nodes go when this one's is ready. Their pods are evicted only when they fit without
	// them; if this machine never comes, nothing was done to them.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Replaces []ReplacedClaim `json:"replaces,omitempty"`

	// release asks for the machine to be given back without deleting the claim first: the reaper's intent, which may
	// still be withdrawn while the claim drains.
	// +optional
	Release *Release `json:"release,omitempty"`

	// restart asks for the machine's power to be taken away and given back, once for each time that it names. It is done while
	// the node is not ready.
	// +optional
	Restart *Restart `json:"restart,omitempty"`
}

// Restart is the intent to restart a machine.
type Restart struct {
	// since is when it was asked for; a later time is another restart.
	Since metav1.MicroTime `json:"since"`
}

// ReplacedClaim names one claim, no other claim of the same name, and why its node is to go.
type ReplacedClaim struct {
	Name   string        `json:"name"`
	UID    types.UID     `json:"uid"`
	Reason ReleaseReason `json:"reason"`
}

// PodReference names one pod and no other pod of the same name.
type PodReference struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Release is the intent to give a machine back.
type Release struct {
	// reason in CamelCase, for example Idle.
	// +kubebuilder:validation:MinLength=1
	Reason string `json:"reason"`
	// message says more, for example what of the template has changed.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
	// since is when the node was closed.
	Since metav1.MicroTime `json:"since"`
	// drain says that the node's pods are to be evicted. Without it, pods that are there are waited for.
	// +optional
	Drain *Drain `json:"drain,omitempty"`
}

// Drain says how a node is emptied, as its pool said when it was begun.
type Drain struct {
	// timeout from release.since to the end of the drain: then it is undone, or forced.
	Timeout metav1.Duration `json:"timeout"`
	// evictLocalStorage and force as in the pool's scaleDown.
	// +optional
	EvictLocalStorage bool `json:"evictLocalStorage,omitempty"`
	// +optional
	Force bool `json:"force,omitempty"`
}

// ClaimState is where a claim stands; docs/states.md has a heading for each.
//
// +kubebuilder:validation:Enum=Pending;Launching;Joining;Starting;Ready;Draining;Releasing;Failed
type ClaimState string

// The states of a claim.
const (
	ClaimPending   ClaimState = "Pending"   // intent is recorded, the provider was not yet called
	ClaimLaunching ClaimState = "Launching" // the provider makes the machine
	ClaimJoining   ClaimState = "Joining"   // the machine runs, no Node yet
	ClaimStarting  ClaimState = "Starting"  // the Node is there and not yet initialized
	ClaimReady     ClaimState = "Ready"     // the Node takes pods
	ClaimDraining  ClaimState = "Draining"  // the Node is closed and pods leave
	ClaimReleasing ClaimState = "Releasing" // the provider takes the machine back
	ClaimFailed    ClaimState = "Failed"    // no machine; kept for its reason until the back-off ends
)

// RestartStep is how far a restart is, and how it ended.
//
// +kubebuilder:validation:Enum=Stopping;Starting;Booting;Recovered;InVain;Impossible
type RestartStep string

// The steps of a restart. The last three end it.
const (
	RestartStopping   RestartStep = "Stopping"   // its power is taken away until it is proven off
	RestartStarting   RestartStep = "Starting"   // its power is given back
	RestartBooting    RestartStep = "Booting"    // it runs; its node has the time of a boot to be ready
	RestartRecovered  RestartStep = "Recovered"  // its node is ready
	RestartInVain     RestartStep = "InVain"     // it did not help
	RestartImpossible RestartStep = "Impossible" // its provider cannot switch it off
)

// RestartStatus is what became of the last restart that was asked for.
type RestartStatus struct {
	// since is that of spec.restart.
	Since metav1.MicroTime `json:"since"`
	Step  RestartStep      `json:"step"`
	// at is when the step began.
	At metav1.MicroTime `json:"at"`
}

// Over says that nothing more is done for a restart.
func (r *RestartStatus) Over() bool {
	return r.Step == RestartRecovered || r.Step == RestartInVain || r.Step == RestartImpossible
}

// Condition types of a claim.
const (
	ConditionLaunched    = "Launched"
	ConditionRegistered  = "Registered"
	ConditionInitialized = "Initialized"
	ConditionReady       = "Ready"
	ConditionDraining    = "Draining"
	ConditionReleased    = "Released"
	ConditionRestarting  = "Restarting" // set with the first restart

	// ConditionReleaseBlocked says that the gate refuses to destroy the machine, and why. It is set with the first refusal.
	ConditionReleaseBlocked = "ReleaseBlocked"
)

// NodeClaimStatus is what Muster knows of a machine.
type NodeClaimStatus struct {
	// +optional
	State ClaimState `json:"state,omitempty"`
	// message is one line for people: what is happening now.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`

	// reservedID is the name that the machine of this attempt will have at the provider, where the provider chooses it.
	// It is written before the machine is made.
	// +optional
	ReservedID string `json:"reservedID,omitempty"`
	// machineID is the provider's own name for the machine.
	// +optional
	MachineID string `json:"machineID,omitempty"`
	// providerID is what the Node's spec.providerID will be.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// systemUUID is what the Node's status.nodeInfo.systemUUID will be.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`
	// identity is what the machine was when it was first proven to be this claim's. No later reading changes it: what contradicts it is
	// another machine.
	// +optional
	Identity *MachineIdentity `json:"identity,omitempty"`
	// host, rack and zone are where the machine runs.
	// +optional
	Host string `json:"host,omitempty"`
	// +optional
	Rack string `json:"rack,omitempty"`
	// +optional
	Zone string `json:"zone,omitempty"`
	// seeded says that the machine still has the drive that it joins with, which may hold a token. It is taken away when the
	// node has registered.
	// +optional
	Seeded bool `json:"seeded,omitempty"`
	// nodeName is the Node that registered for this machine.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// nodeUID is the UID of that Node.
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`

	// attempts counts launches.
	// +optional
	Attempts int32 `json:"attempts,omitempty"`
	// launchedAt is when the provider accepted the current attempt.
	// +optional
	LaunchedAt *metav1.MicroTime `json:"launchedAt,omitempty"`
	// registeredAt is when the Node was first seen.
	// +optional
	RegisteredAt *metav1.MicroTime `json:"registeredAt,omitempty"`
	// readyAt is when the Node became ready.
	// +optional
	ReadyAt *metav1.MicroTime `json:"readyAt,omitempty"`
	// nextAttempt is when the claim acts again: after an error, or at the end of the wait of its state.
	// +optional
	NextAttempt *metav1.MicroTime `json:"nextAttempt,omitempty"`
	// waitingSince is when the wait began that nextAttempt ends. Where the clock was set meanwhile, what is between the two counts.
	// +optional
	WaitingSince *metav1.MicroTime `json:"waitingSince,omitempty"`
	// errors counts provider errors in a row.
	// +optional
	Errors int32 `json:"errors,omitempty"`
	// lastError is the provider's last error, without secrets.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	LastError string `json:"lastError,omitempty"`

	// drainFailures counts the drains of this node that were undone because pods did not leave.
	// +optional
	DrainFailures int32 `json:"drainFailures,omitempty"`
	// drainReopened counts the releases of this node that were taken back because it was needed.
	// +optional
	DrainReopened int32 `json:"drainReopened,omitempty"`
	// drainAgain is when the node may be drained again at the earliest.
	// +optional
	DrainAgain *metav1.MicroTime `json:"drainAgain,omitempty"`

	// restart is the last restart of the machine.
	// +optional
	Restart *RestartStatus `json:"restart,omitempty"`

	// nominated are the pods whose status.nominatedNodeName Muster has set, or was about to set, to this machine's node.
	// It is done once for each pod.
	// +kubebuilder:validation:MaxItems=1000
	// +listType=atomic
	// +optional
	Nominated []types.UID `json:"nominated,omitempty"`

	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MachineIdentity is what tells one machine from every other one. Empty fields are not known.
type MachineIdentity struct {
	// id is the provider's own name of the machine: a VM's number, a Host's UID.
	// +optional
	ID string `json:"id,omitempty"`
	// name is the machine's name at the provider.
	// +optional
	Name string `json:"name,omitempty"`
	// systemUUID is the SMBIOS UUID.
	// +optional
	SystemUUID string `json:"systemUUID,omitempty"`
	// address is the BMC's, and system what the BMC calls the machine.
	// +optional
	Address string `json:"address,omitempty"`
	// +optional
	System string `json:"system,omitempty"`
	// serial is the serial number of the machine or its board.
	// +optional
	Serial string `json:"serial,omitempty"`
	// mac is that of the interface that magic packets are sent to.
	// +optional
	MAC string `json:"mac,omitempty"`
}

// NodeClaimList is a list of NodeClaims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}
