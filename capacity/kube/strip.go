package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// strip keeps of an object in the caches only what the core reads. A cluster has tens of thousands of pods, and most of
// a pod is what its containers run.
func strip(in any) (any, error) {
	switch o := in.(type) {
	case *corev1.Pod:
		return stripPod(o), nil
	case *corev1.Node:
		o.ManagedFields = nil
		o.Status.Images = nil
		o.Status.VolumesInUse, o.Status.VolumesAttached = nil, nil
		return o, nil
	case metav1.Object:
		o.SetManagedFields(nil)
	}
	return in, nil
}

func stripPod(p *corev1.Pod) *corev1.Pod {
	s := &p.Spec
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			Generation: p.Generation, CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp,
			OwnerReferences: p.OwnerReferences, Annotations: mirror(p.Annotations),
		},
		Spec: corev1.PodSpec{
			NodeName: s.NodeName, SchedulerName: s.SchedulerName, Priority: s.Priority, Overhead: s.Overhead,
			Resources: s.Resources, NodeSelector: s.NodeSelector, Affinity: nodeAffinity(s.Affinity),
			Tolerations: s.Tolerations, SchedulingGates: s.SchedulingGates, SchedulingGroup: s.SchedulingGroup,
			ResourceClaims: s.ResourceClaims,
			InitContainers: stripContainers(s.InitContainers), Containers: stripContainers(s.Containers),
		},
		Status: corev1.PodStatus{
			Phase: p.Status.Phase, NominatedNodeName: p.Status.NominatedNodeName,
			Conditions: stripConditions(p.Status.Conditions), Resize: p.Status.Resize,
			Resources: p.Status.Resources, AllocatedResources: p.Status.AllocatedResources,
			InitContainerStatuses: stripStatuses(p.Status.InitContainerStatuses),
			ContainerStatuses:     stripStatuses(p.Status.ContainerStatuses),
		},
	}
}

func mirror(annotations map[string]string) map[string]string {
	if v, ok := annotations[corev1.MirrorPodAnnotationKey]; ok {
		return map[string]string{corev1.MirrorPodAnnotationKey: v}
	}
	return nil
}

func nodeAffinity(a *corev1.Affinity) *corev1.Affinity {
	if a == nil || a.NodeAffinity == nil {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: a.NodeAffinity}
}

func stripContainers(all []corev1.Container) []corev1.Container {
	kept := make([]corev1.Container, len(all))
	for i := range all {
		kept[i] = corev1.Container{
			Name: strings.Clone(all[i].Name), Resources: all[i].Resources, RestartPolicy: all[i].RestartPolicy,
		}
	}
	return kept
}

// stripStatuses keeps what a resize in place is counted by.
func stripStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range all {
		if all[i].Resources == nil && all[i].AllocatedResources == nil {
			continue
		}
		kept = append(kept, corev1.ContainerStatus{
			Name: all[i].Name, Resources: all[i].Resources, AllocatedResources: all[i].AllocatedResources,
		})
	}
	return kept
}

// stripConditions keeps the two conditions that are read, and PodResizePending, by which an infeasible resize is told.
func stripConditions(all []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for i := range all {
		switch all[i].Type {
		case corev1.PodScheduled, v1alpha1.CapacityCondition, corev1.PodResizePending:
			kept = append(kept, all[i])
		}
	}
	return kept
}
