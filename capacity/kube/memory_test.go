package kube

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// BenchmarkMemory holds what `muster serve` holds of a cluster of 5,000 nodes and 50,000 pods: the caches of the watches
// and the live view, filled the way the watches do, one decoded object at a time. Run it alone, with -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	for range b.N {
		live := capacity.NewLive(capacity.Schedulers{Place: sets.New("muster")})
		nodes := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
		pods := newPodStore(live, time.Now)
		now := time.Now()
		for i := range 5_000 {
			node := new(corev1.Node)
			receive(b, largeNode(i), node)
			kept, err := strip(node)
			require.NoError(b, err)
			require.NoError(b, nodes.Add(kept))
			live.SetNode(node, now)
		}
		var list []any
		for i := range 50_000 {
			pod := new(corev1.Pod)
			receive(b, largePod(i), pod)
			gathered, err := pods.Transformer()(pod)
			require.NoError(b, err)
			list = append(list, gathered)
		}
		require.NoError(b, pods.Replace(list, "1"))
		list = nil
		b.ReportMetric(vmRSS(b), "rss-MiB")
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/(1<<20), "live-heap-MiB")
		runtime.KeepAlive([]any{live, nodes, pods})
	}
}

// receive sends an object through the wire's encoding.
func receive(b *testing.B, sent interface{ Marshal() ([]byte, error) }, got interface{ Unmarshal([]byte) error }) {
	wire, err := sent.Marshal()
	require.NoError(b, err)
	require.NoError(b, got.Unmarshal(wire))
}

func vmRSS(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	require.True(b, found)
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	require.NoError(b, err)
	return kib / 1024
}

func largeNode(i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%04d", i), UID: types.UID(fmt.Sprint("node-uid-", i)),
		Labels: map[string]string{corev1.LabelHostname: fmt.Sprintf("node-%04d", i), "zone": fmt.Sprint(i % 3), corev1.LabelOSStable: "linux"},
	}}
	n.Spec.ProviderID = fmt.Sprintf("proxmox://region/%d", i)
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	for c := range 5 {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(fmt.Sprint("Condition", c)), Status: corev1.ConditionFalse, Message: "kubelet has no complaint",
		})
	}
	for image := range 30 {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{fmt.Sprint("registry.example.org/image", image)}, SizeBytes: 1})
	}
	return n
}

func largePod(i int) *corev1.Pod {
	p := fullPod()
	p.Name, p.UID, p.ResourceVersion = fmt.Sprintf("pod-%05d", i), types.UID(fmt.Sprint("pod-uid-", i)), strconv.Itoa(i+1)
	p.Namespace = fmt.Sprint("team-", i%50)
	p.Spec.NodeName = fmt.Sprintf("node-%04d", i%5_000)
	p.OwnerReferences[0].UID = types.UID(fmt.Sprint("rs-", i/10))
	p.Spec.NodeSelector = map[string]string{"zone": fmt.Sprint(i % 3)}
	for e := range 20 {
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprint("NAME_", e), Value: "a value of some length"})
	}
	return p
}

func list(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

// fullPod has everything the core reads of a pod, and much that it does not.
func fullPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "ns", UID: "u", Generation: 3, ResourceVersion: "9",
			Labels:          map[string]string{"app": "x"},
			Annotations:     map[string]string{corev1.MirrorPodAnnotationKey: "m", "notes": "long"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: "rs", Controller: ptr.To(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n1", SchedulerName: "muster", Priority: ptr.To(int32(7)), Overhead: list("100m", "64Mi"),
			NodeSelector: map[string]string{"disk": "ssd"},
			Affinity: &corev1.Affinity{
				NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
					}}},
				}},
				PodAntiAffinity: &corev1.PodAntiAffinity{},
			},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Resources:   &corev1.ResourceRequirements{Requests: list("3", "3Gi")},
			InitContainers: []corev1.Container{
				{Name: "sidecar", Image: "i", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
					Resources: corev1.ResourceRequirements{Requests: list("200m", "128Mi")}},
				{Name: "init", Resources: corev1.ResourceRequirements{Requests: list("2", "1Gi")}},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: "i", Env: []corev1.EnvVar{{Name: "A", Value: "B"}},
				Resources: corev1.ResourceRequirements{Requests: list("500m", "256Mi")},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, NominatedNodeName: "n1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
				{Type: v1alpha1.CapacityCondition, Status: corev1.ConditionFalse, Reason: "MachineOrdered"},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "main", ImageID: "sha256:x", AllocatedResources: list("1", "1Gi"),
				Resources: &corev1.ResourceRequirements{Requests: list("900m", "900Mi")},
			}},
		},
	}
}
