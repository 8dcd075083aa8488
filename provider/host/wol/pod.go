package wol

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// PodConfig is the Pod that switches a node off.
type PodConfig struct {
	Namespace string
	Image     string
	// Command runs in the node's process namespace as root.
	Command []string
}

// DefaultPodConfig asks systemd to power off: SIGRTMIN+4 to process 1 starts poweroff.target
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.html, "Signals"). 38 is that signal where SIGRTMIN is 34,
// as with glibc.
func DefaultPodConfig() PodConfig {
	return PodConfig{Namespace: "muster-poweroff", Image: "docker.io/library/busybox:1.37", Command: []string{"kill", "-38", "1"}}
}

// HostLabel on the Pod names the Host.
const HostLabel = "muster.sh/host"

// Pod switches one node off. It is bound by name to the node, which is closed by then, and tolerates everything. It is tried
// once; the kubelet that ran it is gone before it can say how it went.
func Pod(c PodConfig, host, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "poweroff-" + host, Namespace: c.Namespace, Labels: map[string]string{HostLabel: host}},
		Spec: corev1.PodSpec{
			NodeName: node, HostPID: true, RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To(int64(0)), ActiveDeadlineSeconds: ptr.To(int64(300)),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "poweroff", Image: c.Image, Command: c.Command,
				SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true), RunAsUser: ptr.To(int64(0))},
			}},
		},
	}
}
