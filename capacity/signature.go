package capacity

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/amount"
)

// signature writes all that Fit and the planner read of a pod into one string, in one order. Pods with one signature
// share an Ask, so it must not be possible to write a pod that has another's: the hash is a cryptographic one.
func signature(pod *corev1.Pod, a *Ask) string {
	b := make([]byte, 0, 512)
	b = appendResources(b, a.Requests)
	b = appendMap(b, pod.Spec.NodeSelector)
	if pod.Spec.Affinity != nil {
		b = appendMessage(b, pod.Spec.Affinity)
	} else {
		b = appendString(b, "")
	}
	b = binary.AppendUvarint(b, uint64(len(pod.Spec.TopologySpreadConstraints)))
	for i := range pod.Spec.TopologySpreadConstraints {
		b = appendMessage(b, &pod.Spec.TopologySpreadConstraints[i])
	}
	b = appendPorts(b, pod)
	b = binary.AppendUvarint(b, uint64(len(pod.Spec.Tolerations)))
	for i := range pod.Spec.Tolerations {
		b = appendMessage(b, &pod.Spec.Tolerations[i])
	}
	b = appendString(b, string(a.Unjudged.Code))
	sum := sha256.Sum256(b)
	return string(sum[:16])
}

func appendResources(b []byte, r amount.Resources) []byte {
	for _, v := range []int64{r.MilliCPU, r.Memory, r.EphemeralStorage, r.Pods, int64(len(r.Scalar))} {
		b = binary.AppendVarint(b, v)
	}
	if len(r.Scalar) == 0 {
		return b
	}
	for _, name := range slices.Sorted(maps.Keys(r.Scalar)) {
		b = appendString(b, string(name))
		b = binary.AppendVarint(b, r.Scalar[name])
	}
	return b
}

func appendMap(b []byte, m map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	if len(m) == 0 {
		return b
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = appendString(b, k)
		b = appendString(b, m[k])
	}
	return b
}

// appendString writes the length too, so that no two sequences of strings read alike.
func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// appendMessage uses the protobuf encoding of the API types, which is stable for types without maps.
func appendMessage(b []byte, m interface{ Marshal() ([]byte, error) }) []byte {
	raw, err := m.Marshal()
	if err != nil {
		return appendString(b, err.Error())
	}
	return appendString(b, string(raw))
}
