package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodePool says which machines Muster may make, how many, and when they may go.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mpool,categories=muster
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="In-Flight",type=integer,JSONPath=`.status.inFlight`
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=`.spec.limits.maxNodes`
// +kubebuilder:printcolumn:name="Weight",type=integer,JSONPath=`.spec.weight`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Frozen",type=string,JSONPath=`.status.conditions[?(@.type=="Frozen")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1
// +kubebuilder:printcolumn:name="Braked",type=string,JSONPath=`.status.conditions[?(@.type=="Braked")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50",message="metadata.name must have at most 50 characters: a claim's name is the pool's name and a slot"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec NodePoolSpec `json:"spec"`
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolSpec is what the operator wants of a pool.
type NodePoolSpec struct {
	// provider names the Provider that makes this pool's machines.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Provider string `json:"provider"`

	// template describes the nodes of this pool.
	Template NodeTemplate `json:"template"`

	// limits bound the pool; claims in flight count.
	Limits Limits `json:"limits"`

	// spare is how many nodes of this pool are kept ready without pods, so that pods that come need not wait for a machine: a
	// count, or a share such as "20%" of the nodes that have pods, rounded up. Within the limits, the cheapest shape, and only
	// when no pod that waits is left without a machine.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.matches('^([0-9]|[1-9][0-9]|100)%$')",message="spare is a count such as 2 or a share such as 20%"
	// +optional
	Spare *intstr.IntOrString `json:"spare,omitempty"`

	// repair restarts or replaces nodes that are not ready for long. Without it they are left alone.
	// +optional
	Repair *Repair `json:"repair,omitempty"`

	// weight ranks pools: a pool with a higher weight is tried first.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=0
	// +optional
	Weight int32 `json:"weight,omitempty"`

	// preemption says whether running pods of this pool's nodes may be evicted for pods of higher priority, when no pool
	// may grow for those: Allowed or Never.
	// +kubebuilder:validation:Enum=Allowed;Never
	// +kubebuilder:default=Allowed
	// +optional
	Preemption Preemption `json:"preemption,omitempty"`

	// +kubebuilder:default={}
	// +optional
	ScaleUp ScaleUp `json:"scaleUp,omitempty"`
	// +kubebuilder:default={}
	// +optional
	ScaleDown ScaleDown `json:"scaleDown,omitempty"`
}

// Repair says when something is done about a node that is not ready, and what.
type Repair struct {
	// after is how long a node must have been without a heartbeat. Its pods are evicted by Kubernetes after 5 minutes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="after must be at least 1m: nodes restart"
	After metav1.Duration `json:"after"`

	// strategy is what is done: RestartThenReplace takes the machine's power away, once, and gives it back; a node that is not
	// ready within scaleUp.registrationTimeout after that, or silent again within an hour, is replaced, and so is one whose
	// provider cannot switch its machines off. Replace begins with that.
	// +kubebuilder:validation:Enum=RestartThenReplace;Replace
	// +kubebuilder:default=RestartThenReplace
	// +optional
	Strategy RepairStrategy `json:"strategy,omitempty"`
}

// RepairStrategy says what is done about a node that is not ready.
type RepairStrategy string

// The values of spec.repair.strategy. Empty counts as RestartThenReplace.
const (
	RepairByRestart     RepairStrategy = "RestartThenReplace"
	RepairByReplacement RepairStrategy = "Replace"
)

// Preemption says whether a pool's nodes are looked at for pods that could make room.
type Preemption string

// The values of spec.preemption. Empty counts as Allowed.
const (
	PreemptionAllowed Preemption = "Allowed"
	PreemptionNever   Preemption = "Never"
)

// NodeTemplate describes the nodes that come out of a pool.
//
// +kubebuilder:validation:XValidation:rule="has(self.shapes) != has(self.range)",message="exactly one of shapes and range must be set"
type NodeTemplate struct {
	// labels are put on the node at registration. A value may be a Go template over .Pool, .Provider, .Shape, .Claim,
	// .Machine, .Host, .Rack and .Zone, for example "{{.Host}}".
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('muster.sh/'))",message="labels under muster.sh/ are Muster's own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="a label's key is a qualified name, for example rack or example.org/rack"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are put on the node at registration; values are templates as in labels.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('muster.sh/'))",message="annotations under muster.sh/ are Muster's own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="an annotation's key is a qualified name, for example example.org/rack"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`

	// taints stay on the node; a pod must tolerate them.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t.key) > 0 && t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="a taint needs a key and an effect of NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !t.key.startsWith('muster.sh/'))",message="taints under muster.sh/ are Muster's own"
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// startupTaints are on a new node until somebody else (a CNI or storage agent) takes them off. Muster puts them on
	// at registration, ignores them when it plans, and calls the node ready only when they are gone.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, size(t.key) > 0 && t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="a taint needs a key and an effect of NoSchedule, PreferNoSchedule or NoExecute"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !t.key.startsWith('muster.sh/'))",message="taints under muster.sh/ are Muster's own"
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +optional
	StartupTaints []corev1.Taint `json:"startupTaints,omitempty"`

	// shapes is the fixed list of machine sizes.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=400
	// +listType=map
	// +listMapKey=name
	// +optional
	Shapes []Shape `json:"shapes,omitempty"`

	// range allows every size between two bounds.
	// +optional
	Range *ShapeRange `json:"range,omitempty"`

	// hosts picks the Hosts that this pool may claim, by their labels; without it, all of the provider's that are for this
	// pool. It has a meaning only where the provider powers Hosts.
	// +optional
	Hosts *HostSelector `json:"hosts,omitempty"`

	// overhead is what the system, the kubelet and static pods keep of every machine: capacity minus overhead is left
	// for DaemonSets and pods.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !quantity(string(self[k])).isLessThan(quantity('0')) && quantity(string(self[k])).isLessThan(quantity('1P')))",message="overhead must not be negative, and less than 1P"
	// +optional
	Overhead corev1.ResourceList `json:"overhead,omitempty"`

	// proxmox are this pool's own settings of its machines, where its Provider is of type proxmox.
	// +optional
	Proxmox *ProxmoxMachine `json:"proxmox,omitempty"`
}

// Shape is one machine size.
//
// +kubebuilder:validation:XValidation:rule="'cpu' in self.resources && 'memory' in self.resources",message="resources must name cpu and memory"
// +kubebuilder:validation:XValidation:rule="self.resources.all(k, quantity(string(self.resources[k])).isGreaterThan(quantity('0')) && quantity(string(self.resources[k])).isLessThan(quantity('1P')))",message="resources must be greater than zero and less than 1P"
// +kubebuilder:validation:XValidation:rule="!has(self.price) || !quantity(string(self.price)).isLessThan(quantity('0'))",message="price must not be negative"
type Shape struct {
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// resources is the machine's capacity. pods is 110 unless given.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=32
	Resources corev1.ResourceList `json:"resources"`

	// labels are put on nodes of this shape, beside the template's.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('muster.sh/'))",message="labels under muster.sh/ are Muster's own"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !format.qualifiedName().validate(k).hasValue())",message="a label's key is a qualified name, for example rack or example.org/rack"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// price of one machine for one hour, in any currency. Without it, a cost is derived from cpu and memory.
	// +optional
	Price *resource.Quantity `json:"price,omitempty"`

	// watts are what one machine draws while it is on, on average. Replays report energy by it; nothing is decided by it.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Watts int32 `json:"watts,omitempty"`
}

// ShapeRange allows every size between two bounds, in steps.
type ShapeRange struct {
	// cpu in cores, for example min 2, max 16, step 2.
	CPU QuantityRange `json:"cpu"`
	// memory in bytes, for example min 4Gi, max 64Gi, step 2Gi.
	Memory QuantityRange `json:"memory"`
	// resources every machine has beside cpu and memory, whatever its size. pods is 110 unless given.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="!('cpu' in self) && !('memory' in self)",message="cpu and memory are given by the range"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !quantity(string(self[k])).isLessThan(quantity('0')) && quantity(string(self[k])).isLessThan(quantity('1P')))",message="resources must not be negative, and less than 1P"
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// QuantityRange is min, min+step, ... up to max.
//
// +kubebuilder:validation:XValidation:rule="quantity(string(self.min)).isGreaterThan(quantity('0'))",message="min must be greater than zero"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.step)).isGreaterThan(quantity('0'))",message="step must be greater than zero"
// +kubebuilder:validation:XValidation:rule="!quantity(string(self.max)).isLessThan(quantity(string(self.min)))",message="max must not be less than min"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.max)).isLessThan(quantity('1P'))",message="max must be less than 1P"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.max)).asApproximateFloat() - quantity(string(self.min)).asApproximateFloat() <= 4096.0 * quantity(string(self.step)).asApproximateFloat()",message="step is too small: there may be at most 4096 steps between min and max"
type QuantityRange struct {
	Min  resource.Quantity `json:"min"`
	Max  resource.Quantity `json:"max"`
	Step resource.Quantity `json:"step"`
}

// Limits bound a pool.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minNodes) || self.minNodes <= self.maxNodes",message="minNodes must not exceed maxNodes"
type Limits struct {
	// maxNodes is the most machines this pool may have at once, in flight included.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaxNodes int32 `json:"maxNodes"`

	// minNodes is kept even when nothing needs them.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinNodes int32 `json:"minNodes,omitempty"`

	// resources is the most capacity of each kind that the pool's machines may have together.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !quantity(string(self[k])).isLessThan(quantity('0')) && quantity(string(self[k])).isLessThan(quantity('9P')))",message="resources must not be negative, and less than 9P"
	// +optional
	Resources corev1.ResourceList `json:"resources,omitempty"`
}

// ScaleUp says how the pool grows.
type ScaleUp struct {
	// maxInFlight is the most machines of this pool being made at once; 0 is no bound but maxNodes.
	// +kubebuilder:validation:Minimum=0
	// +optional
	MaxInFlight int32 `json:"maxInFlight,omitempty"`

	// registrationTimeout is how long a machine may take from its launch to its Ready node.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="registrationTimeout must be greater than zero"
	// +kubebuilder:default="10m"
	// +optional
	RegistrationTimeout *metav1.Duration `json:"registrationTimeout,omitempty"`

	// maxAttempts is how often one claim tries to launch a machine before it gives up.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:default=3
	// +optional
	MaxAttempts int32 `json:"maxAttempts,omitempty"`
}

// ScaleDown says when the pool's nodes may go.
type ScaleDown struct {
	// idleAfter is how long a node must have been without pods of its own before it is released; 0s releases it as soon as it is seen idle.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="idleAfter must not be negative"
	// +kubebuilder:default="10m"
	// +optional
	IdleAfter *metav1.Duration `json:"idleAfter,omitempty"`

	// release says what becomes of a machine that is given back: Delete removes it; Stop keeps it switched off for the next
	// claim of this pool and shape, where the provider can. Kept machines are woken before new ones are made.
	// +kubebuilder:validation:Enum=Delete;Stop
	// +kubebuilder:default=Delete
	// +optional
	Release string `json:"release,omitempty"`

	// disabled keeps every node of this pool.
	// +optional
	Disabled bool `json:"disabled,omitempty"`

	// utilizationThreshold in percent: a node of which less than this was asked for during underusedAfter, by its cpu, its
	// memory and its devices alike, is emptied when all its pods fit elsewhere. 0 empties no node.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=30
	// +optional
	UtilizationThreshold *int32 `json:"utilizationThreshold,omitempty"`

	// underusedAfter is how long a node must have been below utilizationThreshold before it is emptied.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="underusedAfter must not be negative"
	// +kubebuilder:default="10m"
	// +optional
	UnderusedAfter *metav1.Duration `json:"underusedAfter,omitempty"`

	// savingThreshold in percent: nodes whose pods have been there for underusedAfter are replaced by one machine that costs
	// at least so much less than all of them, by the prices of shapes. The machine is bought first. 0 replaces none.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	// +optional
	SavingThreshold int32 `json:"savingThreshold,omitempty"`

	// headroom in percent: no pods are moved where less than this of the cpu or of the memory of the nodes that stay would be
	// left free.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=90
	// +kubebuilder:default=10
	// +optional
	Headroom *int32 `json:"headroom,omitempty"`

	// replaceDrifted replaces nodes that this pool's template would make otherwise now: another provider, shape, labels,
	// annotations, taints or settings of the machine. What they lack for their pods is bought first.
	// +optional
	ReplaceDrifted bool `json:"replaceDrifted,omitempty"`

	// expireAfter replaces nodes whose machine is older than this. Without it they may grow old.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="expireAfter must be at least 1m"
	// +optional
	ExpireAfter *metav1.Duration `json:"expireAfter,omitempty"`

	// budgets bound how many of this pool's nodes may be on their way out at once. Of several that hold at a time the
	// smallest counts. Without any for a reason, idle nodes have no bound, and a tenth of the nodes (at least one) may be
	// emptied at once. A node whose replacement is bought counts.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Budgets []ReleaseBudget `json:"budgets,omitempty"`

	// drainTimeout is how long the pods of a node may take to leave. A drain that takes longer is undone, or ended by
	// force. It does not bound the drain of a claim that somebody deleted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="drainTimeout must be greater than zero"
	// +kubebuilder:default="15m"
	// +optional
	DrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`

	// evictLocalStorage lets pods be moved that have an emptyDir on disk or a hostPath: what they wrote there is lost.
	// +optional
	EvictLocalStorage bool `json:"evictLocalStorage,omitempty"`

	// force deletes the pods that are left when drainTimeout is over, whatever their PodDisruptionBudgets say, and gives up
	// after as long again. It takes a right that Muster does not have by itself: deploy/components/force.
	// +optional
	Force bool `json:"force,omitempty"`
}

// ReleaseBudget bounds how many nodes of a pool may be on their way out at once: those that are closed, drained or given
// back, and those that are not ready.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(self.duration)",message="schedule and duration go together"
// +kubebuilder:validation:XValidation:rule="type(self.nodes) == int ? self.nodes >= 0 : self.nodes.matches('^([0-9]|[1-9][0-9]|100)%$')",message="nodes is a count such as 3 or a share such as 10%"
type ReleaseBudget struct {
	// nodes is a count, or a share of the pool's nodes such as "10%", rounded up. 0 lets none go.
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	Nodes intstr.IntOrString `json:"nodes"`

	// reasons the budget is for; all when empty.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Reasons []ReleaseReason `json:"reasons,omitempty"`

	// schedule is when the budget begins to hold, in cron's five fields (minute, hour, day of month, month, day of week) in
	// UTC, or one of @hourly, @daily, @weekly, @monthly, @yearly. Without one it always holds. A schedule that cannot be
	// read lets no node go.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4})$`
	// +optional
	Schedule string `json:"schedule,omitempty"`

	// duration is for how long it holds from there.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="duration must be greater than zero"
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// ReleaseReason is why a node of ours is let go.
//
// +kubebuilder:validation:Enum=Idle;Underused;Drifted;Expired;Consolidated;PoolDeleted
type ReleaseReason string

// The reasons why Muster itself lets a node go.
const (
	ReleaseIdle      ReleaseReason = "Idle"      // no pods of its own for idleAfter
	ReleaseUnderused ReleaseReason = "Underused" // its few pods fit elsewhere
	ReleaseDrifted   ReleaseReason = "Drifted"   // its pool's template changed
	ReleaseExpired   ReleaseReason = "Expired"   // older than expireAfter

	// ReleaseConsolidated: a cheaper machine carries what it carried, together with others.
	ReleaseConsolidated ReleaseReason = "Consolidated"

	// ReleasePoolDeleted: its pool is being deleted.
	ReleasePoolDeleted ReleaseReason = "PoolDeleted"
)

// ReleaseStop is the value of spec.scaleDown.release that keeps machines.
const ReleaseStop = "Stop"

// NodePoolStatus is what Muster sees of a pool.
type NodePoolStatus struct {
	// nodes is the number of Ready nodes.
	// +optional
	Nodes int32 `json:"nodes"`
	// inFlight is the number of claims on their way to Ready.
	// +optional
	InFlight int32 `json:"inFlight"`
	// nodesAtDeletion is how many machines the pool had when it was deleted.
	// +optional
	NodesAtDeletion int32 `json:"nodesAtDeletion,omitempty"`
	// conditions: Ready says whether the pool can grow, and why not; Braked says for which pods it buys nothing because
	// its machines came up in vain; Frozen says whether people stopped the pool's releases or its provisioning; Outage names the silent
	// nodes while there are so many that none is repaired; Deleting says, while the pool is being deleted, which nodes it still has.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// template is a hash of spec.provider and spec.template. What was learned of another template is forgotten.
	// +optional
	Template string `json:"template,omitempty"`

	// shapes is what nodes of this pool turned out to offer. Plans count with the less of that and of what the template
	// promises.
	// +kubebuilder:validation:MaxItems=400
	// +listType=map
	// +listMapKey=name
	// +optional
	Shapes []LearnedShape `json:"shapes,omitempty"`

	// forgotten is when the annotation muster.sh/forget-shapes was last honoured: nodes that registered before that are no evidence
	// of what the pool's shapes offer.
	// +optional
	Forgotten *Forgotten `json:"forgotten,omitempty"`

	// circuits are the kinds of pods whose machines came up and did not take them. After two such machines in a row the
	// circuit is open: the pool buys one more for them per hour.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=pods
	// +optional
	Circuits []Circuit `json:"circuits,omitempty"`

	// backoffs are the failures because of which the pool, or one of its shapes, buys nothing for a while.
	// +kubebuilder:validation:MaxItems=64
	// +listType=map
	// +listMapKey=class
	// +listMapKey=shape
	// +optional
	Backoffs []PoolBackoff `json:"backoffs,omitempty"`
}

// LearnedShape is what Ready nodes of one shape, or of one size of a range, offer.
type LearnedShape struct {
	Name string `json:"name"`
	// capacity of the machine that was asked for.
	Capacity corev1.ResourceList `json:"capacity"`
	// allocatable is the least of cpu, memory, ephemeral storage and pods that a node of this shape offers, and the most
	// of each extended resource.
	Allocatable corev1.ResourceList `json:"allocatable"`
	// nodes is how many said so at once, at most. What a single one said is doubted after a day.
	Nodes int32 `json:"nodes"`
	// observed is when the numbers last changed, or were confirmed. They are forgotten 30 days after that.
	Observed metav1.Time `json:"observed"`
}

// Forgotten is when something that was learned was forgotten because a person said so.
type Forgotten struct {
	// value of the annotation.
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value"`
	// at is when it was honoured.
	At metav1.MicroTime `json:"at"`
}

// Circuit is one kind of pods that machines of the pool came up for in vain.
type Circuit struct {
	// pods is a hash of what such pods ask for.
	Pods string `json:"pods"`
	// example is namespace/name of one of them.
	// +optional
	Example string `json:"example,omitempty"`
	// vain are the UIDs of the last machines, two at most, that came up and did not take such a pod within 2 minutes. With
	// two, the circuit is open.
	// +kubebuilder:validation:MaxItems=2
	// +listType=atomic
	Vain []types.UID `json:"vain"`
	// reason and message say what stood in the way on the last of them.
	Reason string `json:"reason"`
	// +optional
	Message string `json:"message,omitempty"`
	// made is when the first machine in vain was ordered. A newer machine that takes such a pod closes the circuit, and so
	// does one of those in vain.
	Made metav1.Time `json:"made"`
	// since is when the last machine was found to be in vain.
	Since metav1.Time `json:"since"`
	// nextProbe is when the next machine may be bought while the circuit is open.
	NextProbe metav1.Time `json:"nextProbe"`
}

// Open says whether the pool buys no more than a probe for such pods.
func (c *Circuit) Open() bool { return len(c.Vain) > 1 }

// PoolBackoff is a wait after failures of one class.
type PoolBackoff struct {
	// class of the failure, for example NoCapacity or LaunchRefused.
	Class string `json:"class"`
	// shape that waits; empty when the whole pool does.
	// +kubebuilder:default=""
	Shape string `json:"shape"`
	// capacity of the machine that failed, where a shape waits.
	// +optional
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// failures in a row; those of one wave count once.
	Failures int32 `json:"failures"`
	// since is when the last of them was counted.
	Since metav1.MicroTime `json:"since"`
	// until is the end of the wait.
	Until metav1.MicroTime `json:"until"`
	// message of the last failure.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ConditionBraked on a pool is True while a circuit of it is open.
const ConditionBraked = "Braked"

// ConditionFrozen on a pool is True while people have stopped its releases, its provisioning, or both (docs/freeze.md).
const ConditionFrozen = "Frozen"

// The reasons of ConditionFrozen.
const (
	ReasonNotFrozen          = "NotFrozen"
	ReasonReleasesFrozen     = "ReleasesFrozen"
	ReasonProvisioningFrozen = "ProvisioningFrozen"
	ReasonAllFrozen          = "AllFrozen"     // releases and provisioning
	ReasonFreezeUnknown      = "FreezeUnknown" // the ConfigMap cannot be read or understood, which counts as both
)

// Frozen says what of the pool is stopped, as its status has it.
func (s *NodePoolStatus) Frozen() (releases, provisioning bool) {
	for i := range s.Conditions {
		if c := &s.Conditions[i]; c.Type == ConditionFrozen && c.Status == metav1.ConditionTrue {
			return c.Reason != ReasonProvisioningFrozen, c.Reason != ReasonReleasesFrozen
		}
	}
	return false, false
}

// ConditionOutage on a pool is True while so many nodes of all pools are silent that none is repaired.
const ConditionOutage = "Outage"

// NodePoolList is a list of NodePools.
//
// +kubebuilder:object:root=true
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}
