package controlplane

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBootsAndRunsAPodOnANode(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	begin := time.Now()
	p, err := Start(ctx, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	t.Logf("the control plane was ready after %s", time.Since(begin).Round(time.Millisecond))

	room := corev1.ResourceList{
		"cpu": resource.MustParse("2"), "memory": resource.MustParse("4Gi"), "pods": resource.MustParse("10"),
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	_, err = p.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	require.NoError(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p1"}, Spec: corev1.PodSpec{
		NodeName: "n1", Containers: []corev1.Container{{Name: "main", Image: "none"}},
	}}
	_, err = p.Client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	require.NoError(t, err)

	require.NoError(t, p.await(ctx, "the pod", func(ctx context.Context) error {
		return podRuns(ctx, p, "p1")
	}))
	got, err := p.Client.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "2", got.Status.Allocatable.Cpu().String(), "kwok keeps the allocatable that the node came with")
	require.NoError(t, p.Failed())
}

func podRuns(ctx context.Context, p *Plane, name string) error {
	pod, err := p.Client.CoreV1().Pods("default").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("pod %s is %s", name, pod.Status.Phase)
	}
	return nil
}
