package amount

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	requests "k8s.io/component-helpers/resource"
)

// Requested is what a pod that is not bound asks for, as the noderesources plugin computes it. sound is false where no
// number can be trusted: an amount is negative, which the API server refuses but a file or a raw request may hold, or is
// larger than what can be counted.
func Requested(pod *corev1.Pod) (r Resources, sound bool) {
	trusted, negative := withoutNegatives(pod)
	r = Of(requests.PodRequests(trusted, requests.PodResourcesOptions{}))
	r.Pods = 1
	return r, !negative && !r.absurd()
}

// Used is what a bound pod takes of its node: as the scheduler's NodeInfo counts it with the feature gates of 1.36,
// a resize in place at the largest of what is asked, allocated and in use. A negative amount counts as nothing.
func Used(pod *corev1.Pod) Resources {
	trusted, _ := withoutNegatives(pod)
	r := Of(requests.PodRequests(trusted, requests.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	r.Pods = 1
	return r
}

// absurd says whether any kind is at or past the end of what is counted.
func (r *Resources) absurd() bool {
	for _, v := range r.Scalar {
		if v >= most {
			return true
		}
	}
	return r.MilliCPU >= most || r.Memory >= most || r.EphemeralStorage >= most
}

// withoutNegatives is the pod itself, or a copy in which every negative amount is zero and all can be added.
func withoutNegatives(pod *corev1.Pod) (trusted *corev1.Pod, negative bool) {
	odd := false
	for list := range amounts(pod) {
		for _, q := range list {
			negative = negative || q.Sign() < 0
			odd = odd || !Countable(q)
		}
	}
	if !negative && !odd {
		return withOwnAmounts(pod), false
	}
	trusted = pod.DeepCopy()
	for list := range amounts(trusted) {
		for name, q := range list {
			if list[name] = countable(q); q.Sign() < 0 {
				list[name] = resource.Quantity{}
			}
		}
	}
	return trusted, negative
}

// withOwnAmounts is a pod whose pod-level amounts are a copy: PodRequests adds the overhead to them in place where they
// have more digits than it can count fast (k8s.io/component-helpers v0.36), and the pod may belong to a cache.
func withOwnAmounts(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.Resources == nil || pod.Spec.Overhead == nil {
		return pod
	}
	c := *pod
	c.Spec.Resources = pod.Spec.Resources.DeepCopy()
	return &c
}

// amounts are all the lists of a pod that requests or usage are computed from.
func amounts(pod *corev1.Pod) iter.Seq[corev1.ResourceList] {
	return func(yield func(corev1.ResourceList) bool) {
		lists := []corev1.ResourceList{pod.Spec.Overhead, pod.Status.AllocatedResources}
		for _, r := range []*corev1.ResourceRequirements{pod.Spec.Resources, pod.Status.Resources} {
			if r != nil {
				lists = append(lists, r.Requests)
			}
		}
		for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				lists = append(lists, containers[i].Resources.Requests)
			}
		}
		for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
			for i := range statuses {
				lists = append(lists, statuses[i].AllocatedResources)
				if statuses[i].Resources != nil {
					lists = append(lists, statuses[i].Resources.Requests)
				}
			}
		}
		for _, list := range lists {
			if !yield(list) {
				return
			}
		}
	}
}
