package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

type (
	daemonSet   = appsv1.DaemonSet
	deviceClass = resourcev1.DeviceClass
)

// defaultPod fills in what the API server would have and what decides where a pod goes; the rest stays as written. See
// SetDefaults_Pod in https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/core/v1/defaults.go.
func defaultPod(pod *corev1.Pod) {
	if pod.Status.Phase == "" {
		pod.Status.Phase = corev1.PodPending
	}
	defaultPodSpec(&pod.Spec)
}

func defaultPodSpec(spec *corev1.PodSpec) {
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	for i := range spec.InitContainers {
		requestLimits(&spec.InitContainers[i].Resources)
	}
	for i := range spec.Containers {
		requestLimits(&spec.Containers[i].Resources)
	}
}

// requestLimits makes every limit without a request the request.
func requestLimits(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, asked := r.Requests[name]; asked {
			continue
		}
		if r.Requests == nil {
			r.Requests = corev1.ResourceList{}
		}
		r.Requests[name] = limit.DeepCopy()
	}
}
