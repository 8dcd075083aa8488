package uninstall

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// The names in deploy/base of the policy and its binding, and of the namespace.
const (
	protectionName = "muster-removal"
	namespaceName  = "muster-system"
)

var errClaims = errors.New("claims are left, so the definitions stay protected; see that nothing makes new ones, and run the command again")

// allow lets definitions and namespace be deleted, when no claim is left, and lets the protection go with them.
func (u *Uninstall) allow(ctx context.Context) error {
	if left, err := u.claims(ctx); err != nil || u.Do && len(left) > 0 {
		if err == nil {
			err = fmt.Errorf("%d %w", len(left), errClaims)
		}
		return err
	}
	marked, err := u.definitions(ctx)
	if err != nil {
		return err
	}
	namespace := object(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, namespaceName)
	switch err := u.Objects.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); {
	case err == nil:
		marked = append(marked, namespace)
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read namespace %s: %w", namespaceName, err)
	}
	for _, o := range marked {
		if err := u.mark(ctx, o); err != nil {
			return err
		}
	}
	return u.dropProtection(ctx)
}

// definitions are the CustomResourceDefinitions of the group muster.sh.
func (u *Uninstall) definitions(ctx context.Context) ([]*metav1.PartialObjectMetadata, error) {
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(definitionKind.GroupVersion().WithKind(definitionKind.Kind + "List"))
	if err := u.Objects.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	var ours []*metav1.PartialObjectMetadata
	for i := range list.Items {
		if _, group, _ := strings.Cut(list.Items[i].Name, "."); group == v1alpha1.GroupVersion.Group {
			list.Items[i].SetGroupVersionKind(definitionKind)
			ours = append(ours, &list.Items[i])
		}
	}
	return ours, nil
}

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

func object(kind schema.GroupVersionKind, name string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.SetGroupVersionKind(kind)
	return o
}

func (u *Uninstall) mark(ctx context.Context, o *metav1.PartialObjectMetadata) error {
	if o.Annotations[v1alpha1.RemovalAllowedAnnotation] == "true" {
		return nil
	}
	before := o.DeepCopy()
	metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.RemovalAllowedAnnotation, "true")
	return u.change(func() error {
		return client.IgnoreNotFound(u.Objects.Patch(ctx, o, client.MergeFrom(before)))
	}, "allow %s %s to be deleted", o.Kind, o.Name)
}

// dropProtection takes the finalizers off that keep the policy in force: it may be deleted with the rest.
func (u *Uninstall) dropProtection(ctx context.Context) error {
	for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
		o := object(admissionv1.SchemeGroupVersion.WithKind(kind), protectionName)
		if err := u.Objects.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("read %s %s: %w", kind, protectionName, err)
			}
			continue
		}
		o.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind(kind))
		if len(others(o)) == len(o.Finalizers) {
			continue
		}
		if err := u.change(func() error { return u.free(ctx, o) }, "allow %s %s to be deleted", kind, protectionName); err != nil {
			return again(err)
		}
	}
	return nil
}
