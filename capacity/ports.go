package capacity

import (
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// HostPort is a port of its node that a pod takes.
type HostPort struct {
	IP       string // anyAddress where the pod does not say
	Protocol corev1.Protocol
	Port     int32
}

// anyAddress is the one that conflicts with all; that of IPv6 is an address like others
// (k8s.io/kube-scheduler/framework, HostPortInfo).
const anyAddress = "0.0.0.0"

// hostPorts are those of containers and of sidecars; other init containers are over before anybody else starts
// (pkg/scheduler/util, GetHostPorts).
func hostPorts(pod *corev1.Pod) []HostPort {
	var ports []HostPort
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			ports = addPorts(ports, c)
		}
	}
	for i := range pod.Spec.Containers {
		ports = addPorts(ports, &pod.Spec.Containers[i])
	}
	return ports
}

func addPorts(ports []HostPort, c *corev1.Container) []HostPort {
	for i := range c.Ports {
		if c.Ports[i].HostPort <= 0 {
			continue
		}
		p := HostPort{IP: c.Ports[i].HostIP, Protocol: c.Ports[i].Protocol, Port: c.Ports[i].HostPort}
		if p.IP == "" {
			p.IP = anyAddress
		}
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	return ports
}

// Conflicts says whether two pods on one node cannot have these ports.
func (p HostPort) Conflicts(o HostPort) bool {
	return p.Port == o.Port && p.Protocol == o.Protocol && (p.IP == o.IP || p.IP == anyAddress || o.IP == anyAddress)
}

func appendPorts(b []byte, pod *corev1.Pod) []byte {
	ports := hostPorts(pod)
	b = binary.AppendUvarint(b, uint64(len(ports)))
	for _, p := range ports {
		b = appendString(b, p.IP)
		b = appendString(b, string(p.Protocol))
		b = binary.AppendUvarint(b, uint64(p.Port))
	}
	return b
}
