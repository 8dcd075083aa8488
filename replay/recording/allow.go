package recording

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// allowed copies of an object what scheduling reads; nil for a kind that is not recorded.
func allowed(o metav1.Object) (kind string, copied metav1.Object) {
	switch o := o.(type) {
	case *corev1.Pod:
		return "Pod", pod(o)
	case *corev1.Node:
		return "Node", node(o)
	case *v1alpha1.NodeClaim:
		return "NodeClaim", claim(o)
	case *v1alpha1.NodePool:
		return "NodePool", pool(o)
	case *v1alpha1.Provider:
		// Where a backend is, and how it is spoken to, is nobody's concern here.
		return "Provider", &v1alpha1.Provider{ObjectMeta: meta(o), Spec: v1alpha1.ProviderSpec{Type: o.Spec.Type, Sim: o.Spec.Sim}}
	case *appsv1.DaemonSet:
		d := &appsv1.DaemonSet{ObjectMeta: meta(o)}
		d.Spec.Selector = o.Spec.Selector
		d.Spec.Template.Labels, d.Spec.Template.Spec = o.Spec.Template.Labels, podSpec(o.Spec.Template.Spec)
		return "DaemonSet", d
	}
	return "", nil
}

// annotations that scheduling or releasing reads.
var annotations = map[string]bool{
	corev1.MirrorPodAnnotationKey:                          true,
	"karpenter.sh/do-not-disrupt":                          true,
	"cluster-autoscaler.kubernetes.io/safe-to-evict":       true,
	"cluster-autoscaler.kubernetes.io/scale-down-disabled": true,
}

func meta(o metav1.Object) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Labels: o.GetLabels(), Generation: o.GetGeneration(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(), Finalizers: o.GetFinalizers(),
	}
	for key, value := range o.GetAnnotations() {
		if !annotations[key] && !strings.HasPrefix(key, "muster.sh/") {
			continue
		}
		if m.Annotations == nil {
			m.Annotations = map[string]string{}
		}
		m.Annotations[key] = value
	}
	if owner := metav1.GetControllerOf(o); owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return m
}

func pod(p *corev1.Pod) *corev1.Pod {
	q := &corev1.Pod{ObjectMeta: meta(p), Spec: podSpec(p.Spec)}
	q.Status.Phase, q.Status.StartTime, q.Status.QOSClass = p.Status.Phase, p.Status.StartTime, p.Status.QOSClass
	q.Status.NominatedNodeName = p.Status.NominatedNodeName
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled || c.Type == v1alpha1.CapacityCondition {
			q.Status.Conditions = append(q.Status.Conditions, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	return q
}

// podSpec keeps what decides where a pod may stand: no image, command, environment or Secret.
func podSpec(s corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName: s.NodeName, SchedulerName: s.SchedulerName, NodeSelector: s.NodeSelector, Affinity: s.Affinity,
		Tolerations: s.Tolerations, TopologySpreadConstraints: s.TopologySpreadConstraints, Priority: s.Priority,
		PriorityClassName: s.PriorityClassName, PreemptionPolicy: s.PreemptionPolicy, SchedulingGates: s.SchedulingGates,
		Overhead: s.Overhead, Resources: s.Resources, ResourceClaims: s.ResourceClaims, HostNetwork: s.HostNetwork,
		TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds, RestartPolicy: s.RestartPolicy,
		InitContainers: containers(s.InitContainers), Containers: containers(s.Containers), Volumes: volumes(s.Volumes),
	}
}

func containers(list []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range list {
		k := corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				k.Ports = append(k.Ports, corev1.ContainerPort{HostPort: p.HostPort, ContainerPort: p.ContainerPort, HostIP: p.HostIP, Protocol: p.Protocol})
			}
		}
		kept = append(kept, k)
	}
	return kept
}

// volumes keeps those that bind a pod to nodes, or that its eviction would lose.
func volumes(list []corev1.Volume) []corev1.Volume {
	var kept []corev1.Volume
	for _, v := range list {
		k := corev1.Volume{Name: v.Name}
		switch {
		case v.PersistentVolumeClaim != nil:
			k.PersistentVolumeClaim = v.PersistentVolumeClaim
		case v.Ephemeral != nil:
			k.Ephemeral = &corev1.EphemeralVolumeSource{VolumeClaimTemplate: v.Ephemeral.VolumeClaimTemplate}
		case v.EmptyDir != nil:
			k.EmptyDir = v.EmptyDir
		case v.HostPath != nil:
			k.HostPath = &corev1.HostPathVolumeSource{Path: "/"}
		case v.CSI != nil:
			k.CSI = &corev1.CSIVolumeSource{Driver: v.CSI.Driver}
		default:
			continue
		}
		kept = append(kept, k)
	}
	return kept
}

func node(n *corev1.Node) *corev1.Node {
	m := &corev1.Node{ObjectMeta: meta(n)}
	m.Spec.ProviderID, m.Spec.Unschedulable, m.Spec.Taints = n.Spec.ProviderID, n.Spec.Unschedulable, n.Spec.Taints
	m.Status.Capacity, m.Status.Allocatable = n.Status.Capacity, n.Status.Allocatable
	m.Status.NodeInfo.SystemUUID, m.Status.NodeInfo.KubeletVersion = n.Status.NodeInfo.SystemUUID, n.Status.NodeInfo.KubeletVersion
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			m.Status.Conditions = []corev1.NodeCondition{{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}}
		}
	}
	return m
}

// claim leaves out messages: they quote what backends say.
func claim(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	from := c.Status
	to := v1alpha1.NodeClaimStatus{
		State: from.State, MachineID: from.MachineID, ProviderID: from.ProviderID, SystemUUID: from.SystemUUID, Host: from.Host,
		Zone: from.Zone, NodeName: from.NodeName, Attempts: from.Attempts, LaunchedAt: from.LaunchedAt,
		RegisteredAt: from.RegisteredAt, ReadyAt: from.ReadyAt, NextAttempt: from.NextAttempt, Errors: from.Errors,
		Nominated: from.Nominated,
	}
	for _, k := range from.Conditions {
		k.Message = ""
		to.Conditions = append(to.Conditions, k)
	}
	return &v1alpha1.NodeClaim{ObjectMeta: meta(c), Spec: c.Spec, Status: to}
}

// pool keeps what is decided by, not how a backend makes the pool's machines.
func pool(p *v1alpha1.NodePool) *v1alpha1.NodePool {
	return &v1alpha1.NodePool{ObjectMeta: meta(p), Spec: v1alpha1.NodePoolSpec{
		Provider: p.Spec.Provider, Template: p.Spec.Template, Limits: p.Spec.Limits, Weight: p.Spec.Weight,
		Preemption: p.Spec.Preemption, ScaleUp: p.Spec.ScaleUp, ScaleDown: p.Spec.ScaleDown,
	}}
}
