package kube

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/capacity/control"
)

// answerWithin bounds a read that keeps a machine when it fails.
const answerWithin = 5 * time.Second

var _ control.Definitions = (*Cluster)(nil)

// DefinitionStands reads the metadata of a CustomResourceDefinition from the API server. It returns nil when the definition is
// there and is not being deleted.
func (k *Cluster) DefinitionStands(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var crd metav1.PartialObjectMetadata
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := k.client.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
		return fmt.Errorf("cannot see whether CustomResourceDefinition %s is being deleted: %w", name, err)
	}
	if crd.DeletionTimestamp != nil {
		return fmt.Errorf("CustomResourceDefinition %s is being deleted, and no one asked for this machine to go (docs/uninstall.md)", name)
	}
	return nil
}
