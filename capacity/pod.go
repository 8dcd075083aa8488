package capacity

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/topology"
	"github.com/muster-sh/muster/capacity/volume"
)

// Pod is what the core keeps of a pod. It is never changed after it was made; a newer Pod replaces it.
type Pod struct {
	UID             types.UID
	Namespace, Name string
	Labels          topology.Labels
	Generation      int64
	version         string // resourceVersion

	// Owner is the controller's UID, OwnerKind its kind; empty for a bare pod.
	Owner     types.UID
	OwnerKind string
	// Mirror pods show static pods; both they and DaemonSet pods live and die with their node.
	Mirror bool

	Node      string // where it is bound
	Nominated string // where it is about to be bound, or was promised room
	Scheduler string
	Priority  int32
	// NeverPreempts is a preemptionPolicy of Never: no pod is to be evicted for this one.
	NeverPreempts bool
	Created       time.Time
	Started       time.Time // by its kubelet; zero before
	Ends          time.Time // when the grace period of a pod in deletion is over; zero for others
	grace         *int64    // seconds of it

	// Unschedulable is set while the scheduler says so in the PodScheduled condition.
	Unschedulable bool
	Gated         bool
	Terminating   bool
	Finished      bool // Succeeded or Failed

	keep  keep // see Stays
	local bool

	// Capacity is the pod's muster.sh/Capacity condition as last seen; nil when it has none.
	Capacity *corev1.PodCondition

	Ask *Ask
	// Usage is what the pod takes of the node it is bound to.
	Usage amount.Resources
	// Volumes is what the pod's volumes ask of a node; nil for most pods. No two pods share one, so no pod that has one
	// stands for another.
	Volumes *volume.Demand
}

// Daemon says whether a DaemonSet made the pod.
func (p *Pod) Daemon() bool { return p.OwnerKind == "DaemonSet" }

// Resident says whether the pod stays with its node when it is emptied.
func (p *Pod) Resident() bool { return p.Daemon() || p.Mirror }

// Pending says whether the pod still waits for a node.
func (p *Pod) Pending() bool { return p.Node == "" && !p.Finished && !p.Terminating && !p.Gated }

// Key is namespace/name, for people.
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// Ref names the pod in a claim.
func (p *Pod) Ref() v1alpha1.PodReference {
	return v1alpha1.PodReference{Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

func newPod(pod *corev1.Pod, ask *Ask) *Pod {
	p := &Pod{
		UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, Generation: pod.Generation,
		Labels:  topology.LabelsOf(pod.Labels),
		version: pod.ResourceVersion,
		Node:    pod.Spec.NodeName, Nominated: pod.Status.NominatedNodeName, Scheduler: pod.Spec.SchedulerName,
		Priority: schedulingv1.PodPriority(pod), Created: pod.CreationTimestamp.Time,
		Gated:       len(pod.Spec.SchedulingGates) > 0,
		Terminating: pod.DeletionTimestamp != nil,
		Finished:    pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
		Ask:         ask,
		Volumes:     volume.NewDemand(pod),
	}
	p.readTimes(pod)
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		p.Owner, p.OwnerKind = owner.UID, owner.Kind
	}
	_, p.Mirror = pod.Annotations[corev1.MirrorPodAnnotationKey]
	p.keep, p.local = keepOf(pod), writesLocally(pod)
	if p.Node != "" {
		p.Usage = amount.Used(pod)
		if p.Usage.Equal(ask.Requests) {
			p.Usage = ask.Requests // one map for all
		}
	}
	p.readConditions(pod.Status.Conditions)
	return p
}

func (p *Pod) readTimes(pod *corev1.Pod) {
	if policy := pod.Spec.PreemptionPolicy; policy != nil {
		p.NeverPreempts = *policy == corev1.PreemptNever
	}
	if pod.Status.StartTime != nil {
		p.Started = pod.Status.StartTime.Time
	}
	if pod.DeletionTimestamp != nil {
		p.Ends, p.grace = pod.DeletionTimestamp.Time, pod.DeletionGracePeriodSeconds
	}
}

func (p *Pod) readConditions(conditions []corev1.PodCondition) {
	for i := range conditions {
		c := &conditions[i]
		switch c.Type {
		case corev1.PodScheduled:
			p.Unschedulable = c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		case v1alpha1.CapacityCondition:
			p.Capacity = c.DeepCopy()
		}
	}
}

// PodOf reads a pod outside of any view.
func PodOf(pod *corev1.Pod) *Pod { return newPod(pod, NewAsk(pod)) }

// Subject is the pod as rules about other pods see it.
func (p *Pod) Subject() topology.Subject {
	return topology.Subject{
		Namespace: p.Namespace, Labels: p.Labels, Rules: p.Ask.Rules, Terminating: p.Terminating,
	}
}
