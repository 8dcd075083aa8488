package wol

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// PodConfig is the Pod that switches a node off.
type PodConfig struct {
	Namespace string
	Image     string
	// Command runs in the node's process namespace as root.
	Command []string
	// Deadline bounds it from its start.
	Deadline time.Duration
}

// PodConfigOf is the Pod of a Provider; what it does not say is as in DefaultPodConfig.
func PodConfigOf(spec *v1alpha1.HostRules) PodConfig {
	c := DefaultPodConfig()
	if spec == nil {
		return c
	}
	p := spec.PowerOff
	c.Namespace, c.Image = cmp.Or(p.Namespace, c.Namespace), cmp.Or(p.Image, c.Image)
	if len(p.Command) > 0 {
		c.Command = p.Command
	}
	if p.Deadline != nil {
		c.Deadline = p.Deadline.Duration
	}
	return c
}

// DefaultPodConfig asks systemd to power off: SIGRTMIN+4 to process 1 starts poweroff.target
// (https://www.freedesktop.org/software/systemd/man/latest/systemd.html, "Signals"). 38 is that signal where SIGRTMIN is 34,
// as with glibc.
func DefaultPodConfig() PodConfig {
	return PodConfig{Namespace: "muster-poweroff", Image: "docker.io/library/busybox:1.37", Command: []string{"kill", "-38", "1"},
		Deadline: 5 * time.Minute}
}

// HostLabel on the Pod names the Host.
const HostLabel = "muster.sh/host"

// PodName is the name of the Pod that switches a host off. One name for each host: there are never two.
func PodName(host string) string { return "poweroff-" + host }

// Pod switches one node off. It is bound by name to the node, which is closed by then, and tolerates everything. It uses the
// node's network, so that it starts where the network of pods is gone already. It is tried once; the kubelet that ran it is gone before it can say how it went.
func Pod(c PodConfig, host, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: PodName(host), Namespace: c.Namespace, Labels: map[string]string{HostLabel: host}},
		Spec: corev1.PodSpec{
			NodeName: node, HostPID: true, HostNetwork: true, RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To(int64(0)), ActiveDeadlineSeconds: ptr.To(int64(c.Deadline.Seconds())),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{
				Name: "poweroff", Image: c.Image, Command: c.Command,
				SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true), RunAsUser: ptr.To(int64(0)), ReadOnlyRootFilesystem: ptr.To(true)},
			}},
		},
	}
}
