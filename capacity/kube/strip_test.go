package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

func list(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// fullPod has everything the core reads of a pod, and much that it does not.
func fullPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "ns", UID: "u", Generation: 3, ResourceVersion: "9",
			Labels:          map[string]string{"app": "x"},
			Annotations:     map[string]string{corev1.MirrorPodAnnotationKey: "m", "notes": "long"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "rs", Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n1", SchedulerName: "muster", Priority: ptr.To(int32(7)), Overhead: list("100m", "64Mi"),
			NodeSelector: map[string]string{"disk": "ssd"},
			Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
					}}},
				}},
				PodAntiAffinity: &corev1.PodAntiAffinity{},
			},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Resources:   &corev1.ResourceRequirements{Requests: list("3", "3Gi")},
			InitContainers: []corev1.Container{
				{Name: "sidecar", Image: "i", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
					Resources: corev1.ResourceRequirements{Requests: list("200m", "128Mi")}},
				{Name: "init", Resources: corev1.ResourceRequirements{Requests: list("2", "1Gi")}},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: "i", Env: []corev1.EnvVar{{Name: "A", Value: "B"}},
				Resources: corev1.ResourceRequirements{Requests: list("500m", "256Mi")},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, NominatedNodeName: "n1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
				{Type: v1alpha1.CapacityCondition, Status: corev1.ConditionFalse, Reason: "MachineOrdered"},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", ImageID: "sha256:x", AllocatedResources: list("1", "1Gi"),
				Resources: &corev1.ResourceRequirements{Requests: list("900m", "900Mi")},
			}},
		},
	}
}

func TestStrippedPodReadsLikeTheWholePod(t *testing.T) {
	cases := map[string]func(*corev1.Pod){
		"bound, with a resize under way": func(*corev1.Pod) {},
		"without pod-level resources":    func(p *corev1.Pod) { p.Spec.Resources = nil },
		"with an infeasible resize": func(p *corev1.Pod) {
			p.Spec.Resources = nil
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible,
			})
		},
		"gated and pending": func(p *corev1.Pod) {
			p.Spec.NodeName, p.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "wait"}}
		},
		"with claims for devices": func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} },
		"terminating":             func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) },
		"finished":                func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			whole := fullPod()
			change(whole)
			stripped, err := strip(whole.DeepCopy())
			require.NoError(t, err)
			got, want := capacity.PodOf(stripped.(*corev1.Pod)), capacity.PodOf(whole)
			require.Equal(t, want.Ask.Signature, got.Ask.Signature)
			got.Ask, want.Ask = nil, nil
			require.Equal(t, want, got)
		})
	}
}

func TestStrippedPodLeavesOutWhatIsLarge(t *testing.T) {
	stripped, err := strip(fullPod())
	require.NoError(t, err)
	p := stripped.(*corev1.Pod)
	require.Nil(t, p.ManagedFields)
	require.Nil(t, p.Labels)
	require.Equal(t, map[string]string{corev1.MirrorPodAnnotationKey: "m"}, p.Annotations)
	require.Empty(t, p.Spec.Containers[0].Image)
	require.Empty(t, p.Spec.Containers[0].Env)
}
