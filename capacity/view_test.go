package capacity

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/internal/object"
)

func TestAViewIsSorted(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("b"), object.Node("a"))
	one, two := object.Pod("same"), object.Pod("same")
	one.UID, two.UID = "2", "1"
	s.pods(object.Bound(object.Pod("z"), "a"), object.Bound(one, "a"), object.Bound(two, "a"))
	young, urgent, old := unschedulable(object.Pod("young")), unschedulable(object.Pod("urgent")), unschedulable(object.Pod("old"))
	young.CreationTimestamp, urgent.Spec.Priority = metav1.NewTime(object.At(5)), new(int32(9))
	s.pods(young, old, urgent)
	for _, p := range []*v1alpha1.NodePool{{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, {ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}}} {
		if p.Name == "c" {
			p.Spec.Weight = 5
		}
		s.SetPool(p)
	}
	v := s.View()
	var pods, waiting []types.UID
	for _, p := range v.Pods["a"] {
		pods = append(pods, p.UID)
	}
	for _, f := range v.Shortfalls {
		waiting = append(waiting, f.Pod.UID)
	}
	require.Equal(t, []types.UID{"1", "2", "z"}, pods)
	require.Equal(t, []types.UID{"urgent", "old", "young"}, waiting)
	require.Equal(t, []string{"a", "b"}, []string{v.Nodes[0].Name, v.Nodes[1].Name})
	require.Equal(t, []string{"c", "a", "b"}, []string{v.Pools[0].Name, v.Pools[1].Name, v.Pools[2].Name})
}

func TestAViewSharesWhatDidNotChange(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("a", "cpu", "4", "example.com/gpu", "1"), object.Node("b", "cpu", "4"))
	before := s.View()
	s.pods(object.Bound(object.Pod("p", "cpu", "1", "example.com/gpu", "1"), "a"))
	after := s.View()
	require.NotSame(t, before.Nodes[0], after.Nodes[0])
	require.Same(t, before.Nodes[1], after.Nodes[1])
	require.True(t, before.Nodes[0].Used.IsZero())
	require.Empty(t, before.Pods["a"])
	require.Len(t, after.Pods["a"], 1)
}

func TestPodsOfANodeThatIsNotSeenYetCount(t *testing.T) {
	s := newScene()
	s.pods(object.Bound(object.Pod("p", "cpu", "3"), "n"))
	require.Empty(t, s.View().Nodes)
	s.nodes(object.Node("n", "cpu", "4"))
	require.Equal(t, int64(1000), s.node("n").Free().MilliCPU)
	s.ForgetNode("n")
	require.Empty(t, s.View().Nodes)
	s.now = object.At(7)
	s.nodes(object.Node("n", "cpu", "4"))
	require.Equal(t, int64(1000), s.node("n").Free().MilliCPU, "its pods outlive the Node by a while")
	require.Equal(t, object.At(7), s.View().Seen["n"])
}

func TestDeviceClassesChangeAnswers(t *testing.T) {
	s := newScene()
	s.nodes(object.Node("n", "cpu", "4"))
	want := func(node string) {
		t.Helper()
		require.Equal(t, node, s.place(object.Pod("p", "example.com/gpu", "1"), "n").Node)
	}
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}}
	want("")
	class.Spec.ExtendedResourceName = new("example.com/gpu")
	s.SetDeviceClass(class)
	want("n")
	require.Equal(t, "n", s.place(object.Pod("q", "deviceclass.resource.kubernetes.io/gpus", "1"), "n").Node)
	classes := s.View().Classes
	s.SetDeviceClass(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}})
	want("")
	require.True(t, classes.Has("example.com/gpu"), "an older View keeps its own")
	s.ForgetDeviceClass("gpus")
	require.Empty(t, s.View().Classes)
}

// Run under -race: Views are read while Live goes on.
func TestViewsAreReadWhileLiveGoesOn(t *testing.T) {
	h := newHistory(t, random(42))
	var names atomic.Uint64
	var readers sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for reader := range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				v := h.live.View()
				names.Add(uint64(len(dump(v))))
				pod := object.Pod(fmt.Sprintf("r%d", reader), "cpu", "100m")
				for _, n := range v.Nodes {
					Fit(NewAsk(pod), n, n.Free(), v.Classes)
					h.live.Veto(pod, n.Name)
					h.live.Preferences(pod, []string{n.Name}, 10)
				}
				h.live.Demand()
				h.live.Occupants("n0")
				h.live.HoldsBefore(object.At(10))
			}
		})
	}
	for range 300 {
		h.step()
	}
	cancel()
	readers.Wait()
	require.NotZero(t, names.Load())
}
