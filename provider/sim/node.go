package sim

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// KwokAnnotation tells kwok that a Node is its to keep alive.
const KwokAnnotation = "kwok.x-k8s.io/node"

// defaultPods is the kubelet's own default of --max-pods.
var defaultPods = resource.MustParse("110")

// NodeOf is the Node a machine registers, as a kubelet would that was started with --register-with-taints for
// muster.sh/starting: no scheduler can be quicker than the claim's own taints. It is not Ready yet.
func NodeOf(m Machine) *corev1.Node {
	return nodeOf(m.Machine, m.Request)
}

func nodeOf(m provider.Machine, r provider.Request) *corev1.Node {
	capacity := r.Resources.DeepCopy()
	if _, ok := capacity[corev1.ResourcePods]; !ok {
		capacity[corev1.ResourcePods] = defaultPods.DeepCopy()
	}
	return &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: m.NodeName,
			Labels: map[string]string{corev1.LabelHostname: m.NodeName, corev1.LabelOSStable: "linux",
				corev1.LabelArchStable: "amd64"},
			Annotations: map[string]string{KwokAnnotation: "fake"},
		},
		Spec: corev1.NodeSpec{
			ProviderID: m.ProviderID,
			Taints:     []corev1.Taint{{Key: v1alpha1.StartingTaint, Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: allocatable(capacity, r.Overhead),
			NodeInfo: corev1.NodeSystemInfo{SystemUUID: m.SystemUUID, MachineID: m.SystemUUID, OperatingSystem: "linux",
				Architecture: "amd64", KubeletVersion: "v1.36.0-sim"},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.NodeName}},
		},
	}
}

// allocatable is capacity without overhead, never below zero.
func allocatable(capacity, overhead corev1.ResourceList) corev1.ResourceList {
	left := capacity.DeepCopy()
	for name, o := range overhead {
		q, ok := left[name]
		if !ok {
			continue
		}
		q.Sub(o)
		if q.Sign() < 0 {
			q = *resource.NewQuantity(0, q.Format)
		}
		left[name] = q
	}
	return left
}
