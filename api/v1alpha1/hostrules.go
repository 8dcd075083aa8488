package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostRules are how long things may take at the Hosts of a Provider, and how often they are tried. The defaults suit
// servers: minutes of self-test, a BMC that needs a while after each operation.
//
// +kubebuilder:validation:XValidation:rule="!has(self.onRetry) || !has(self.onTimeout) || duration(self.onRetry) < duration(self.onTimeout)",message="onRetry must be less than onTimeout"
// +kubebuilder:validation:XValidation:rule="!has(self.answerTimeout) || !has(self.onTimeout) || duration(self.answerTimeout) <= duration(self.onTimeout)",message="answerTimeout must not exceed onTimeout"
type HostRules struct {
	// settle is how long power must read the same before it counts.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="settle must be at least 1s"
	// +kubebuilder:default="3s"
	// +optional
	Settle *metav1.Duration `json:"settle,omitempty"`
	// answerTimeout is how long a claimed host may not answer before anything was asked of it; another one takes its place.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="answerTimeout must be at least 1s"
	// +kubebuilder:default="2m"
	// +optional
	AnswerTimeout *metav1.Duration `json:"answerTimeout,omitempty"`
	// onRetry is how long an accepted power-on may show no effect before it is asked for again.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="onRetry must be at least 1s"
	// +kubebuilder:default="1m"
	// +optional
	OnRetry *metav1.Duration `json:"onRetry,omitempty"`
	// onAttempts is how often power-on is asked for.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	// +kubebuilder:default=3
	// +optional
	OnAttempts int32 `json:"onAttempts,omitempty"`
	// onTimeout is how long a host may take from its claim until it is on.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="onTimeout must be at least 1s"
	// +kubebuilder:default="10m"
	// +optional
	OnTimeout *metav1.Duration `json:"onTimeout,omitempty"`
	// shutdownTimeout is how long the operating system has to stop before its power is taken away.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="shutdownTimeout must be at least 1s"
	// +kubebuilder:default="5m"
	// +optional
	ShutdownTimeout *metav1.Duration `json:"shutdownTimeout,omitempty"`
	// offRetry is how long taking the power away may show no effect before it is asked for again. It is never given up.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="offRetry must be at least 1s"
	// +kubebuilder:default="30s"
	// +optional
	OffRetry *metav1.Duration `json:"offRetry,omitempty"`
	// watchEvery is how often a host is read that a claim has.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="watchEvery must be at least 1s"
	// +kubebuilder:default="1m"
	// +optional
	WatchEvery *metav1.Duration `json:"watchEvery,omitempty"`
	// idleEvery is how often any other host is read.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="idleEvery must be at least 1s"
	// +kubebuilder:default="5m"
	// +optional
	IdleEvery *metav1.Duration `json:"idleEvery,omitempty"`
	// quarantine is what follows when a host did not serve its claim.
	// +kubebuilder:default={}
	// +optional
	Quarantine QuarantineRules `json:"quarantine,omitempty"`
	// powerOff is the Pod that switches hosts without a BMC off.
	// +kubebuilder:default={}
	// +optional
	PowerOff PowerOffPod `json:"powerOff,omitempty"`
}

// QuarantineRules keep a host that did not serve its claim from the next ones.
//
// +kubebuilder:validation:XValidation:rule="!has(self.coolDown) || !has(self.maxCoolDown) || duration(self.coolDown) <= duration(self.maxCoolDown)",message="coolDown must not exceed maxCoolDown"
type QuarantineRules struct {
	// coolDown is the first quarantine; each claim in a row that the host does not serve doubles it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="coolDown must be at least 1s"
	// +kubebuilder:default="10m"
	// +optional
	CoolDown *metav1.Duration `json:"coolDown,omitempty"`
	// maxCoolDown bounds the doubling.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s')",message="maxCoolDown must be at least 1s"
	// +kubebuilder:default="24h"
	// +optional
	MaxCoolDown *metav1.Duration `json:"maxCoolDown,omitempty"`
	// maxStrikes is how many claims in a row a host may not serve; then only an operator returns it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=4
	// +optional
	MaxStrikes int32 `json:"maxStrikes,omitempty"`
}

// PowerOffPod switches a drained node off from inside.
type PowerOffPod struct {
	// namespace that Muster may make privileged Pods in.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:default="muster-poweroff"
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// image has the program that command names.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:default="docker.io/library/busybox:1.37"
	// +optional
	Image string `json:"image,omitempty"`
	// command runs as root in the node's process namespace. The default asks systemd to power off.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +kubebuilder:default={"kill","-38","1"}
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// deadline bounds the Pod from its start; after it, it is failed and made anew.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="deadline must be at least 10s"
	// +kubebuilder:default="5m"
	// +optional
	Deadline *metav1.Duration `json:"deadline,omitempty"`
}
