package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Identity is what tells this cluster from every other one: the UID of its namespace kube-system, which cannot be
// deleted. It is the usual stand-in for a cluster ID, which Kubernetes does not have.
func Identity(ctx context.Context, cs kubernetes.Interface) (types.UID, error) {
	ns, err := cs.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the UID of namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if ns.UID == "" {
		return "", fmt.Errorf("namespace %s has no UID", metav1.NamespaceSystem)
	}
	return ns.UID, nil
}
