package replay

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	helper "k8s.io/component-helpers/resource"

	"github.com/muster-sh/muster/capacity"
)

// devices stand for kube-scheduler's plugin DynamicResources. A replay knows no ResourceSlices, so it cannot say which node has the
// device that a pod asks for: it lets such a pod on no node and says that it is not judged, instead of taking every node for
// good enough.
type devices struct {
	served capacity.Classes
}

// noDevices is the scheduler's word in a replay, and nowhere else.
const noDevices = "node(s) have devices that a replay does not know, so the pod is not judged"

// wantDevices is what reports say of such pods.
const wantDevices = "ask for devices (resource claims, or what a DeviceClass serves): a replay knows none, so they wait"

func newDevices(classes []*resourcev1.DeviceClass) devices {
	d := devices{served: capacity.Classes{}}
	for _, c := range classes {
		d.served.Insert(corev1.ResourceName(resourcev1.ResourceDeviceClassPrefix + c.Name))
		if name := c.Spec.ExtendedResourceName; name != nil {
			d.served.Insert(corev1.ResourceName(*name))
		}
	}
	return d
}

// matter says whether there is anything to judge.
func (d devices) matter(p *corev1.Pod) bool {
	return len(p.Spec.ResourceClaims) > 0 || len(d.served) > 0
}

// judged says whether a replay can tell if the node has what the pod asks for: no resource claim, and of what a DeviceClass
// serves only resources that the node offers itself (feature DRAExtendedResource).
func (d devices) judged(p *corev1.Pod, n *corev1.Node) bool {
	if len(p.Spec.ResourceClaims) > 0 {
		return false
	}
	if len(d.served) == 0 {
		return true
	}
	for name, q := range helper.PodRequests(p, helper.PodResourcesOptions{}) {
		if _, offered := n.Status.Allocatable[name]; !q.IsZero() && !offered && d.served.Has(name) {
			return false
		}
	}
	return true
}
