package amount

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// What a pod asks for: noderesources/fit.go, computePodResourceRequest. What a bound pod takes: framework/types.go,
// CalculateResource, with the feature gates of 1.36 (InPlacePodVerticalScaling, PodLevelResources and
// InPlacePodLevelResourcesVerticalScaling on, DRANodeAllocatableResources off).
func TestRequestsAndUsage(t *testing.T) {
	status := func(name string, allocated, actual corev1.ResourceList) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, AllocatedResources: allocated,
			Resources: &corev1.ResourceRequirements{Requests: actual}}
	}
	infeasible := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}
	deferred := corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}
	for name, c := range map[string]struct {
		change      func(p *corev1.Pod)
		asks, takes Resources
	}{
		"containers are summed": {
			func(p *corev1.Pod) {
				p.Spec.Containers = append(p.Spec.Containers, container("b", "cpu", "500m", "memory", "1Gi"))
			},
			Resources{MilliCPU: 1500, Memory: 2 << 30}, Resources{MilliCPU: 1500, Memory: 2 << 30}},
		"a larger init container counts instead": {
			func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{container("i", "cpu", "3")} },
			Resources{MilliCPU: 3000, Memory: 1 << 30}, Resources{MilliCPU: 3000, Memory: 1 << 30}},
		"init containers run one after the other": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{container("i", "cpu", "700m"), container("j", "cpu", "800m")}
			},
			Resources{MilliCPU: 1000, Memory: 1 << 30}, Resources{MilliCPU: 1000, Memory: 1 << 30}},
		"a sidecar runs beside the containers": {
			func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{sidecar("s", "cpu", "200m")} },
			Resources{MilliCPU: 1200, Memory: 1 << 30}, Resources{MilliCPU: 1200, Memory: 1 << 30}},
		"an init container runs beside the sidecars before it": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{sidecar("s", "cpu", "2"), container("i", "cpu", "3"), sidecar("t", "cpu", "1")}
			},
			Resources{MilliCPU: 5000, Memory: 1 << 30}, Resources{MilliCPU: 5000, Memory: 1 << 30}},
		"overhead comes on top": {
			func(p *corev1.Pod) { p.Spec.Overhead = amountsOf("cpu", "100m", "memory", "100Mi") },
			Resources{MilliCPU: 1100, Memory: 1124 << 20}, Resources{MilliCPU: 1100, Memory: 1124 << 20}},
		"pod-level requests replace the containers', overhead still comes on top": {
			func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amountsOf("cpu", "3", "hugepages-2Mi", "4Mi")}
				p.Spec.Overhead = amountsOf("cpu", "100m")
			},
			Resources{MilliCPU: 3100, Memory: 1 << 30, Scalar: map[corev1.ResourceName]int64{"hugepages-2Mi": 4 << 20}},
			Resources{MilliCPU: 3100, Memory: 1 << 30, Scalar: map[corev1.ResourceName]int64{"hugepages-2Mi": 4 << 20}}},
		"pod-level requests smaller than the containers' win too": {
			func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amountsOf("cpu", "500m")}
			},
			Resources{MilliCPU: 500, Memory: 1 << 30}, Resources{MilliCPU: 500, Memory: 1 << 30}},
		"kinds that have no pod level are left to the containers": {
			func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amountsOf("cpu", "2", "ephemeral-storage", "1Gi")}
			},
			Resources{MilliCPU: 2000, Memory: 1 << 30}, Resources{MilliCPU: 2000, Memory: 1 << 30}},
		"limits are not requests": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = amountsOf("cpu", "9") },
			Resources{MilliCPU: 1000, Memory: 1 << 30}, Resources{MilliCPU: 1000, Memory: 1 << 30}},
		"growing in place: a bound pod counts what it asks for at once": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = amountsOf("cpu", "2", "memory", "1Gi")
				p.Status.ContainerStatuses = []corev1.ContainerStatus{
					status("main", amountsOf("cpu", "1", "memory", "1Gi"), amountsOf("cpu", "1", "memory", "1Gi"))}
				p.Status.Conditions = []corev1.PodCondition{deferred}
			},
			Resources{MilliCPU: 2000, Memory: 1 << 30}, Resources{MilliCPU: 2000, Memory: 1 << 30}},
		"growing in place where it cannot: what is allocated counts": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = amountsOf("cpu", "64", "memory", "1Gi")
				p.Status.ContainerStatuses = []corev1.ContainerStatus{
					status("main", amountsOf("cpu", "1", "memory", "1Gi"), amountsOf("cpu", "1", "memory", "1Gi"))}
				p.Status.Conditions = []corev1.PodCondition{infeasible}
			},
			Resources{MilliCPU: 64000, Memory: 1 << 30}, Resources{MilliCPU: 1000, Memory: 1 << 30}},
		"shrinking in place: what is still in use counts": {
			func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{
					status("main", amountsOf("cpu", "1", "memory", "1Gi"), amountsOf("cpu", "3", "memory", "1Gi"))}
			},
			Resources{MilliCPU: 1000, Memory: 1 << 30}, Resources{MilliCPU: 3000, Memory: 1 << 30}},
		"allocated more than is in use": {
			func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{
					status("main", amountsOf("cpu", "4", "memory", "1Gi"), amountsOf("cpu", "1", "memory", "1Gi"))}
			},
			Resources{MilliCPU: 1000, Memory: 1 << 30}, Resources{MilliCPU: 4000, Memory: 1 << 30}},
		"a status without resources says nothing": {
			func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: amountsOf("cpu", "9")}}
			},
			Resources{MilliCPU: 1000, Memory: 1 << 30}, Resources{MilliCPU: 1000, Memory: 1 << 30}},
		"a sidecar is resized like a container": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{sidecar("s", "cpu", "1")}
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{status("s", amountsOf("cpu", "2"), amountsOf("cpu", "2"))}
			},
			Resources{MilliCPU: 2000, Memory: 1 << 30}, Resources{MilliCPU: 3000, Memory: 1 << 30}},
		"the status of a plain init container does not count": {
			func(p *corev1.Pod) {
				p.Spec.InitContainers = []corev1.Container{container("i", "cpu", "1")}
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{status("i", amountsOf("cpu", "5"), amountsOf("cpu", "5"))}
			},
			Resources{MilliCPU: 1000, Memory: 1 << 30}, Resources{MilliCPU: 1000, Memory: 1 << 30}},
		"pod-level resources shrink in place": {
			func(p *corev1.Pod) {
				p.Spec.Resources = &corev1.ResourceRequirements{Requests: amountsOf("cpu", "2")}
				p.Status.Resources = &corev1.ResourceRequirements{Requests: amountsOf("cpu", "5")}
				p.Status.AllocatedResources = amountsOf("cpu", "3")
			},
			Resources{MilliCPU: 2000, Memory: 1 << 30}, Resources{MilliCPU: 5000, Memory: 1 << 30}},
		"parts of a milli and of a byte are rounded up": {
			func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = amountsOf("cpu", "100100u", "memory", "1500m")
			},
			Resources{MilliCPU: 101, Memory: 2}, Resources{MilliCPU: 101, Memory: 2}},
		"nothing asked for is nothing counted, not the scheduler's default for scoring": {
			func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = nil }, Resources{}, Resources{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("cpu", "1", "memory", "1Gi")
			c.change(p)
			c.asks.Pods, c.takes.Pods = 1, 1
			assert.Equal(t, c.asks, asked(p))
			assert.Equal(t, c.takes, Used(p))
		})
	}
}

func TestABoundPodWithANegativeAmountStillTakesTheRest(t *testing.T) {
	p := pod("cpu", "4")
	p.Spec.Containers = append(p.Spec.Containers, container("b", "cpu", "-3", "example.com/gpu", "-1"))
	assert.Equal(t, Resources{MilliCPU: 4000, Pods: 1}, Used(p))
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", AllocatedResources: amountsOf("memory", "-1Gi"),
		Resources: &corev1.ResourceRequirements{Requests: amountsOf("memory", "-2Gi")}}}
	assert.Equal(t, Resources{MilliCPU: 4000, Pods: 1}, Used(p))
}

// PodRequests adds the overhead to pod-level amounts in place where they have more digits than it can count fast.
func TestCountingAPodDoesNotChangeIt(t *testing.T) {
	p := pod("cpu", "1.0000000000")
	p.Spec.Resources = &corev1.ResourceRequirements{Requests: amountsOf("cpu", "1.0000000000")}
	p.Spec.Overhead = amountsOf("cpu", "1.0000000000")
	for range 3 {
		assert.Equal(t, int64(2000), asked(p).MilliCPU)
		assert.Equal(t, int64(2000), Used(p).MilliCPU)
	}
}
