package stage

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Node makes a node that was there before Muster, and waits until it is Ready.
func (s *Stage) Node(name string, room corev1.ResourceList, edits ...func(*corev1.Node)) {
	s.T.Helper()
	s.makeNode(name, room, edits...)
	s.Await(30*time.Second, "node "+name+" to be Ready", func() error {
		n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return nodeReady(n)
	})
}

// Nodes makes many nodes of one size, name-0 and so on, and waits until all are Ready.
func (s *Stage) Nodes(n int, name string, room corev1.ResourceList) {
	s.T.Helper()
	for i := range n {
		s.makeNode(fmt.Sprintf("%s-%d", name, i), room)
	}
	s.AwaitNodes(2 * time.Minute)
}

// AwaitNodes waits until all nodes there are are Ready.
func (s *Stage) AwaitNodes(within time.Duration) {
	s.T.Helper()
	s.Await(within, "the nodes to be Ready", func() error {
		list, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := nodeReady(&list.Items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Stage) makeNode(name string, room corev1.ResourceList, edits ...func(*corev1.Node)) {
	room = maps.Clone(room)
	if _, given := room[corev1.ResourcePods]; !given {
		room[corev1.ResourcePods] = Resources("pods", "110")["pods"]
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}
	for _, edit := range edits {
		edit(node)
	}
	_, err := s.Plane.Client.CoreV1().Nodes().Create(s.Ctx, node, metav1.CreateOptions{})
	require.NoError(s.T, err)
}

// nodeReady wants the taint of a new node gone as well: kube-controller-manager takes it off a moment later.
func nodeReady(n *corev1.Node) error {
	for _, t := range n.Spec.Taints {
		if t.Key == corev1.TaintNodeNotReady {
			return fmt.Errorf("node %s still has the taint %s", n.Name, t.Key)
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not Ready", n.Name)
}

// ChangeNode reads a node, changes it and writes it back, again if somebody else was faster.
func (s *Stage) ChangeNode(name string, change func(*corev1.Node)) {
	s.T.Helper()
	require.NoError(s.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		_, err = s.Plane.Client.CoreV1().Nodes().Update(s.Ctx, n, metav1.UpdateOptions{})
		return err
	}))
}

// Taint adds a NoSchedule taint.
func Taint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

// TakeOff takes all taints of a key off all nodes.
func (s *Stage) TakeOff(key string) error {
	list, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range list.Items {
		if slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key }) {
			s.ChangeNode(n.Name, Untaint(key))
		}
	}
	return nil
}

// Untaint takes all taints of a key off.
func Untaint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		var kept []corev1.Taint
		for _, t := range n.Spec.Taints {
			if t.Key != key {
				kept = append(kept, t)
			}
		}
		n.Spec.Taints = kept
	}
}

// ChangeNodeStatus is ChangeNode for what the kubelet reports.
func (s *Stage) ChangeNodeStatus(name string, change func(*corev1.Node)) {
	s.T.Helper()
	require.NoError(s.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(n)
		_, err = s.Plane.Client.CoreV1().Nodes().UpdateStatus(s.Ctx, n, metav1.UpdateOptions{})
		return err
	}))
}

// Fenced wants a node that no scheduler may choose: cordoned, and with the taint of a release.
func (s *Stage) Fenced(name string) error {
	n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	tainted := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1alpha1.ReleasingTaint })
	if !tainted || !n.Spec.Unschedulable {
		return fmt.Errorf("node %s is open: taints %v, unschedulable %v", name, n.Spec.Taints, n.Spec.Unschedulable)
	}
	return nil
}
