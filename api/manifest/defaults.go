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
	if pod.UID == "" { // others were created, and their labels may have changed since
		demandOwnLabels(pod)
	}
}

func defaultPodSpec(spec *corev1.PodSpec) {
	if spec.SchedulerName == "" {
		spec.SchedulerName = corev1.DefaultSchedulerName
	}
	if spec.RestartPolicy == "" {
		spec.RestartPolicy = corev1.RestartPolicyAlways
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
			if spec.HostNetwork {
				portsOfHost(containers[i].Ports)
			}
		}
	}
}

// portsOfHost makes the ports of a pod in its node's network those of the node.
func portsOfHost(ports []corev1.ContainerPort) {
	for i := range ports {
		if ports[i].HostPort == 0 {
			ports[i].HostPort = ports[i].ContainerPort
		}
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
