package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/dial"
)

// registry is what backends are made with. It is the one place that names them.
type registry struct {
	sims  *simMaker
	hosts *hostMaker
	pve   *proxmoxMetrics
	kube  kubernetes.Interface
	log   *slog.Logger
	now   func() time.Time
}

// makers lists the backends of this build: one line each.
func (r *registry) makers() map[v1alpha1.ProviderType]maker {
	return map[v1alpha1.ProviderType]maker{
		v1alpha1.ProviderSim:     r.sims.make,
		v1alpha1.ProviderProxmox: r.proxmox,
		v1alpha1.ProviderRedfish: r.hosts.make,
		v1alpha1.ProviderIPMI:    r.hosts.make,
		v1alpha1.ProviderWoL:     r.hosts.make,
	}
}

// credentials are those of a Secret, read when they are used and fresh within dial.MaxAge. A nil reference has none.
func (r *registry) credentials(ref *v1alpha1.SecretReference) *dial.Credentials {
	name := ""
	if ref != nil {
		name = "secret " + ref.Namespace + "/" + ref.Name
	}
	return &dial.Credentials{Name: name, Now: r.now, Read: func(ctx context.Context) (map[string][]byte, error) {
		if ref == nil {
			return nil, fmt.Errorf("spec.credentials names no Secret")
		}
		return r.secret(ctx, *ref)
	}}
}

// secret reads one Secret, as it is now.
func (r *registry) secret(ctx context.Context, ref v1alpha1.SecretReference) (map[string][]byte, error) {
	secret, err := r.kube.CoreV1().Secrets(ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", ref.Namespace, ref.Name, err)
	}
	return secret.Data, nil
}
