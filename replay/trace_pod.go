package replay

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GPU says how the GPUs of a trace are counted.
type GPU string

// The ways to count GPUs. A scheduler without device sharing knows whole ones; with GPUMilli a part of a GPU takes that
// part, as if it could be spread over a node's GPUs.
const (
	GPUWhole GPU = "whole" // gpu_count of nvidia.com/gpu
	GPUMilli GPU = "milli" // gpu_count times gpu_milli of muster.sh/gpu-milli
)

// Resources and the label that GPUs of traces become.
const (
	WholeGPU    corev1.ResourceName = "nvidia.com/gpu"
	MilliGPU    corev1.ResourceName = "muster.sh/gpu-milli"
	GPUModel                        = "nvidia.com/gpu.product"
	wholeMillis                     = 1000
)

// The largest values taken: what no machine has, and no sum of which overflows.
const (
	mostMilliCPU = 1e9
	mostMiB      = 1e9
	mostGPUs     = 1e6
)

// arrival makes a pod of a row. One without a duration was never scheduled: it is deleted at its end_s, placed or not.
func (t *Trace) arrival(r *row) Arrival {
	at, given := r.time("arrival_s")
	if !given {
		r.bad("arrival_s", "seconds; every row has an arrival")
	}
	a := Arrival{At: at, Pod: t.pod(r)}
	runs, ran := r.time("duration_s")
	end, ends := r.time("end_s")
	switch {
	case ran:
		a.Runs = max(runs, 1)
	case ends && end < at:
		r.bad("end_s", "a time that is not before arrival_s")
	case ends:
		a.Leaves = max(end, 1)
	}
	return a
}

func (t *Trace) pod(r *row) *corev1.Pod {
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(r.count("cpu_milli", mostMilliCPU), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(r.count("memory_mib", mostMiB)<<20, resource.BinarySI),
	}
	if disk := r.count("disk_mib", mostMiB); disk > 0 {
		requests[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(disk<<20, resource.BinarySI)
	}
	tolerations := t.options.Tolerations
	if name, amount := t.gpus(r); amount > 0 {
		requests[name] = *resource.NewQuantity(amount, resource.DecimalSI)
		tolerations = append(tolerations[:len(tolerations):len(tolerations)], t.options.Devices[name]...)
	}
	name := r.name("name", fmt.Sprintf("pod-%d", r.line))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: name, OwnerReferences: owner(r.text("group"), name),
		},
		Spec: corev1.PodSpec{
			SchedulerName: Scheduler, RestartPolicy: corev1.RestartPolicyNever, NodeSelector: r.selector("node_selector"),
			Tolerations: tolerations, Affinity: modelAffinity(r.words("gpu_model")),
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	return pod
}

func (t *Trace) gpus(r *row) (corev1.ResourceName, int64) {
	count, milli := r.count("gpu_count", mostGPUs), r.count("gpu_milli", wholeMillis)
	if t.options.GPU != GPUMilli {
		return WholeGPU, count
	}
	if r.text("gpu_milli") == "" {
		milli = wholeMillis
	}
	return MilliGPU, count * milli
}

// modelAffinity has a pod go to nodes with one of these GPUs, as the label of the GPU feature discovery names them.
func modelAffinity(models []string) *corev1.Affinity {
	if len(models) == 0 {
		return nil
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: GPUModel, Operator: corev1.NodeSelectorOpIn, Values: models,
			}},
		}}},
	}}
}

// owner makes the pods of a group replicas of one another, which are spread over nodes where that costs nothing. A pod of
// no group has a Job of its own: somebody makes it again, so it may be evicted.
func owner(group, pod string) []metav1.OwnerReference {
	yes := true
	if group == "" {
		return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: pod, UID: types.UID("job-" + pod), Controller: &yes}}
	}
	return []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: group, UID: types.UID("group-" + group), Controller: &yes,
	}}
}
