package sim

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// KubeNodes registers Nodes at an API server, which keeps the status that a Node is created with
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/registry/core/node/strategy.go, PrepareForCreate).
type KubeNodes struct{ Client corev1client.NodeInterface }

// CreateNode creates the Node, or finds that it is there.
func (k KubeNodes) CreateNode(ctx context.Context, node *corev1.Node) error {
	_, err := k.Client.Create(ctx, node, metav1.CreateOptions{})
	if err == nil || !apierrors.IsAlreadyExists(err) {
		return err
	}
	old, err := k.Client.Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if old.Spec.ProviderID != node.Spec.ProviderID {
		return fmt.Errorf("node %s is there with provider ID %q", node.Name, old.Spec.ProviderID)
	}
	return nil
}
