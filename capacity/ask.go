package capacity

import (
	"encoding/binary"
	"hash"
	"hash/fnv"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Ask is what a pod asks of a node, compiled once and shared by all pods with the same Signature. It is never changed.
type Ask struct {
	// Signature is equal for pods that every node answers alike.
	Signature string
	// Requests is what the pod takes of a node's allocatable, one pod included.
	Requests Resources
	// Tolerations of the pod.
	Tolerations []corev1.Toleration
	// Unjudged says why no machine can be planned for such a pod; the zero Reason when one can.
	Unjudged Reason

	required  nodeaffinity.RequiredNodeAffinity
	preferred *nodeaffinity.PreferredSchedulingTerms
}

// NewAsk compiles what a pod asks of a node. Requests follow the noderesources plugin: the larger of the containers' sum
// and each init container with the sidecars started before it, pod-level resources first, overhead on top.
func NewAsk(pod *corev1.Pod) *Ask {
	a := &Ask{
		Requests:    podRequests(pod),
		Tolerations: pod.Spec.Tolerations,
		Unjudged:    unjudged(pod),
		required:    nodeaffinity.GetRequiredNodeAffinity(pod),
		preferred:   preferredTerms(pod),
	}
	a.Signature = signature(pod, a)
	return a
}

func podRequests(pod *corev1.Pod) Resources {
	r := ResourcesOf(resource.PodRequests(pod, resource.PodResourcesOptions{}))
	r.Pods = 1
	return r
}

// podUsage is what a bound pod takes of its node: as the scheduler's NodeInfo counts it, with a resize in place counted
// at the larger of what is asked, allocated and in use.
func podUsage(pod *corev1.Pod) Resources {
	r := ResourcesOf(resource.PodRequests(pod, resource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	r.Pods = 1
	return r
}

func unjudged(pod *corev1.Pod) Reason {
	switch {
	case pod.Spec.SchedulingGroup != nil:
		return Reason{Code: CodeSchedulingGroup}
	case len(pod.Spec.ResourceClaims) > 0:
		return Reason{Code: CodeResourceClaims}
	}
	return Reason{}
}

// preferredTerms ignores terms that do not parse: a preference is never a reason to refuse, and the API server has
// validated them already.
func preferredTerms(pod *corev1.Pod) *nodeaffinity.PreferredSchedulingTerms {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	return terms
}

// signature writes all that Fit and the planner read of a pod into one string, in one order.
func signature(pod *corev1.Pod, a *Ask) string {
	h := fnv.New128a()
	writeResources(h, a.Requests)
	writeMap(h, pod.Spec.NodeSelector)
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		writeProto(h, pod.Spec.Affinity.NodeAffinity)
	}
	for i := range pod.Spec.Tolerations {
		writeProto(h, &pod.Spec.Tolerations[i])
	}
	writeString(h, string(a.Unjudged.Code))
	return string(h.Sum(nil))
}

func writeResources(h hash.Hash, r Resources) {
	for _, v := range []int64{r.MilliCPU, r.Memory, r.EphemeralStorage, r.Pods} {
		writeString(h, strconv.FormatInt(v, 10))
	}
	names := make([]corev1.ResourceName, 0, len(r.Scalar))
	for name := range r.Scalar {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		writeString(h, string(name))
		writeString(h, strconv.FormatInt(r.Scalar[name], 10))
	}
}

func writeMap(h hash.Hash, m map[string]string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	writeString(h, strconv.Itoa(len(keys)))
	for _, k := range keys {
		writeString(h, k)
		writeString(h, m[k])
	}
}

// writeString writes the length too, so that no two sequences of strings read alike.
func writeString(h hash.Hash, s string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	h.Write(n[:])
	h.Write([]byte(s))
}

// writeProto uses the protobuf encoding of the API types, which is stable for types without maps.
func writeProto(h hash.Hash, m interface{ Marshal() ([]byte, error) }) {
	b, err := m.Marshal()
	if err != nil {
		writeString(h, err.Error())
		return
	}
	writeString(h, string(b))
}
