package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/provider/gate"
)

// freezeTimeout bounds one reading: an API server that does not answer counts as one that cannot be reached.
const freezeTimeout = 5 * time.Second

// Freeze reads what people have stopped from the API server.
func (k *Cluster) Freeze(ctx context.Context) (gate.Freeze, error) {
	return ReadFreeze(ctx, k.client, k.namespace)
}

// ReadFreeze reads the ConfigMap by which people stop what Muster does. Only the API server's own word that there is none stops
// nothing; with an error, everything is frozen.
func ReadFreeze(ctx context.Context, c client.Reader, namespace string) (gate.Freeze, error) {
	ctx, cancel := context.WithTimeout(ctx, freezeTimeout)
	defer cancel()
	var m corev1.ConfigMap
	err := c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: gate.FreezeName}, &m)
	switch {
	case notThere(err):
		return gate.Freeze{}, nil
	case err != nil:
		err = fmt.Errorf("ConfigMap %s/%s: %w", namespace, gate.FreezeName, err)
		return gate.FreezeUnknown(err), err
	}
	return gate.ParseFreeze(FreezeData(&m)), nil
}

// FreezeData is all data of the ConfigMap. What was stored as bytes is read like text.
func FreezeData(m *corev1.ConfigMap) map[string]string {
	data := make(map[string]string, len(m.Data)+len(m.BinaryData))
	for key, value := range m.BinaryData {
		data[key] = string(value)
	}
	for key, value := range m.Data {
		data[key] = value
	}
	return data
}

// notThere says whether the API server itself said that the object does not exist, and not something before it that knows no such path.
func notThere(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return false
		}
	}
	return status.Status().Details.Name == gate.FreezeName
}
