package witness

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestBook(t *testing.T) {
	cases := []struct {
		name string
		do   func(*Book)
		over int
	}{
		{"a full node is not over", func(b *Book) { b.SetPod(pod("a", "1")); b.SetPod(pod("b", "1")) }, 0},
		{"a milli too many is over", func(b *Book) { b.SetPod(pod("a", "1")); b.SetPod(pod("b", "1001m")) }, 1},
		{"one pod seen twice counts once", func(b *Book) { b.SetPod(pod("a", "2")); b.SetPod(pod("a", "2")) }, 0},
		{"more pods than the node takes is over", func(b *Book) {
			for _, name := range []string{"a", "b", "c", "d"} {
				b.SetPod(pod(name, "0"))
			}
		}, 1},
		{"a finished pod needs no room", func(b *Book) {
			p := pod("a", "3")
			p.Status.Phase = corev1.PodSucceeded
			b.SetPod(p)
		}, 0},
		{"a terminating pod needs its room", func(b *Book) {
			p := pod("a", "3")
			now := metav1.Now()
			p.DeletionTimestamp = &now
			b.SetPod(p)
		}, 1},
		{"a pod that is gone needs no room", func(b *Book) { p := pod("a", "3"); b.SetPod(p); b.DropPod(p) }, 0},
		{"an unbound pod needs no room", func(b *Book) { p := pod("a", "3"); p.Spec.NodeName = ""; b.SetPod(p) }, 0},
		{"a resource the node lacks is over", func(b *Book) {
			p := pod("a", "1")
			p.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
			b.SetPod(p)
		}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := NewBook()
			room := corev1.ResourceList{"cpu": resource.MustParse("2"), "pods": resource.MustParse("3")}
			b.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Allocatable: room}})
			c.do(b)
			require.Len(t, b.OverAnywhere(), c.over)
		})
	}
}

func pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{
		NodeName: "n",
		Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)},
		}}},
	}}
}
