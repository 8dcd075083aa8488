package capacity

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// bytesChooser chooses by the bytes of a fuzz test; when they are used up it always takes the first.
type bytesChooser struct{ left []byte }

func (c *bytesChooser) IntN(n int) int {
	if len(c.left) == 0 {
		return 0
	}
	v := int(c.left[0])
	if c.left = c.left[1:]; n > 256 && len(c.left) > 0 {
		v, c.left = v<<8|int(c.left[0]), c.left[1:]
	}
	return v % n
}

func FuzzLive(f *testing.F) {
	for seed := range uint64(8) {
		by, data := random(seed), make([]byte, 150)
		for i := range data {
			data[i] = byte(by.IntN(256))
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		by := &bytesChooser{data[:min(len(data), 400)]}
		h := newHistory(t, by)
		for len(by.left) > 0 {
			h.step()
		}
		requireSorted(t, h.live.View())
		h.checkView(h.live.View())
	})
}

// slowToRead are numbers that whoever reads a file or a request refuses beforehand.
var slowToRead = regexp.MustCompile(`[eE]-[0-9]{4}|[0-9.]{19}`)

// An ask never wants less than its largest container does, and what it wants is never negative.
func FuzzAsk(f *testing.F) {
	f.Add("1", "500m", "-1", "1Gi", uint8(3))
	f.Add("10E", "922337203685477580", "922337203685477580", "1e30", uint8(255))
	f.Add("-922337203685477580", "1n", "0.5", "", uint8(7))
	f.Add("1E10010000", "E10010000", "1.0000000000", "-1E10010000", uint8(117))
	f.Fuzz(func(t *testing.T, a, b, c, d string, shape uint8) {
		var amounts [4]resource.Quantity
		negative := false
		for i, s := range []string{a, b, c, d} {
			if slowToRead.MatchString(s) {
				return
			}
			q, err := resource.ParseQuantity(s)
			if err != nil {
				return
			}
			amounts[i] = q
			negative = negative || q.Sign() < 0
		}
		p := fuzzedPod(amounts, shape)
		ask := NewAsk(p)
		r, used := ask.Requests, amount.Used(p)
		for _, r := range []amount.Resources{r, used} {
			require.True(t, r.MilliCPU >= 0 && r.Memory >= 0 && r.EphemeralStorage >= 0 && r.Scalar["example.com/gpu"] >= 0)
		}
		empty := &Node{Object: object.Node("n"), Allocatable: amount.Resources{Pods: 1}}
		if !r.Equal(amount.Resources{Pods: 1}) || negative {
			require.False(t, Fit(ask, empty, empty.Free(), nil).Fits, "an empty node fits only who asks for nothing")
		}
		full := &Node{Object: object.Node("n"), Allocatable: amount.Of(object.Amounts("cpu", "10E", "memory", "10E", "example.com/gpu", "10E",
			"ephemeral-storage", "10E", "pods", "10"))}
		require.Equal(t, ask.Unjudged.Code != CodeInvalid, Fit(ask, full, full.Free(), nil).Fits)
		if negative {
			require.Equal(t, CodeInvalid, ask.Unjudged.Code)
		}
		require.Equal(t, ask.Signature, NewAsk(p.DeepCopy()).Signature)
	})
}

// fuzzedPod spreads the amounts over the places of a pod that count.
func fuzzedPod(amounts [4]resource.Quantity, shape uint8) *corev1.Pod {
	kinds := []corev1.ResourceName{"cpu", "memory", "ephemeral-storage", "example.com/gpu"}
	list := func(i int) corev1.ResourceList {
		return corev1.ResourceList{kinds[(i+int(shape))%4]: amounts[i], kinds[(i+int(shape>>2))%4]: amounts[(i+1)%4]}
	}
	p := object.Pod("p")
	p.Spec.Containers = []corev1.Container{object.Container("a"), object.Container("b")}
	p.Spec.InitContainers = []corev1.Container{object.Container("i")}
	p.Spec.Containers[0].Resources.Requests = list(0)
	p.Spec.Containers[1].Resources.Requests = list(1)
	p.Spec.InitContainers[0].Resources.Requests = list(2)
	if shape&16 != 0 {
		p.Spec.InitContainers[0] = object.Sidecar("i")
		p.Spec.InitContainers[0].Resources.Requests = list(2)
	}
	p.Spec.Overhead = list(3)
	if shape&32 != 0 {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: list(3)}
	}
	if shape&64 != 0 {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "a", AllocatedResources: list(1),
			Resources: &corev1.ResourceRequirements{Requests: list(2)}}}
	}
	return p
}

// Any pod that decodes is compiled, judged, placed and taken in without a panic.
func FuzzPod(f *testing.F) {
	for _, p := range []*corev1.Pod{
		object.Pod("p", "cpu", "1"), object.Nominated(object.Pod("p"), "n"), object.Bound(object.Pod("p", "memory", "1Gi"), "n"),
		object.Preferring(object.Pod("p"), 3, corev1.NodeSelectorRequirement{Key: "zone", Operator: "Gt", Values: []string{"x"}}),
	} {
		raw, err := json.Marshal(p)
		require.NoError(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"metadata":{"uid":"u"},"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{}]}}}}}`))
	f.Add([]byte(`{"metadata":{"uid":"u","ownerReferences":[{"controller":true}]},"spec":{"containers":[{"resources":{"requests":{"cpu":"-1"}}}],"tolerations":[{"operator":"Lt"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := &corev1.Pod{}
		if slowToRead.Match(raw) || json.Unmarshal(raw, p) != nil {
			return
		}
		s := newScene()
		s.nodes(object.Node("n", "cpu", "4", "memory", "8Gi"))
		_, err := s.Place(t.Context(), Call{Number: 1, Pod: PodOf(p), Nodes: []string{"n", "absent"}, Now: object.Start})
		require.Equal(t, p.UID == "", err != nil, err)
		s.pods(p)
		n := s.node("n")
		require.True(t, n.Held.MilliCPU >= 0 && n.Used.MilliCPU >= 0 && n.Used.Memory >= 0)
		require.True(t, n.Held.IsZero() || n.Free().MilliCPU >= 0 || p.Status.NominatedNodeName != "", "held without room")
		s.ForgetPod(p.UID)
		n = s.node("n")
		require.True(t, n.Held.IsZero() && n.Used.IsZero(), "what was counted is taken away again")
	})
}
