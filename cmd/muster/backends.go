package main

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider"
)

// maker makes the backend of one Provider object.
type maker func(*v1alpha1.Provider) (provider.Provider, error)

// backends makes one backend for each Provider object, and a new one when its spec changes.
type backends struct {
	live   *capacity.Live
	makers map[v1alpha1.ProviderType]maker
	calls  *providerCalls
	// warn tells what is dangerous about a Provider; nil tells nobody.
	warn func(about *v1alpha1.Provider, reason, message string)

	mu   sync.Mutex
	made map[string]backend
}

type backend struct {
	generation int64
	provider   provider.Provider
}

func newBackends(live *capacity.Live, r prometheus.Registerer, makers map[v1alpha1.ProviderType]maker) *backends {
	return &backends{live: live, makers: makers, calls: newProviderCalls(r), made: map[string]backend{}}
}

// Backend returns the backend of this name.
func (b *backends) Backend(name string) (provider.Provider, error) {
	object := b.live.Provider(name)
	if object == nil {
		return nil, fmt.Errorf("provider %s does not exist: %w", name, provider.ErrUnknown)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.made[name]; ok && known.generation == object.Generation {
		return known.provider, nil
	}
	makeOne, ok := b.makers[object.Spec.Type]
	if !ok {
		return nil, fmt.Errorf("provider %s: this build has no backend of type %s: %w", name, object.Spec.Type, provider.ErrUnknown)
	}
	p, err := makeOne(object)
	if err != nil {
		return nil, fmt.Errorf("provider %s: %w: %w", name, provider.ErrUnknown, err)
	}
	if tls := object.Spec.TLS; tls != nil && tls.InsecureSkipVerify && b.warn != nil {
		b.warn(object, "InsecureTLS", "spec.tls.insecureSkipVerify trusts any server: set caBundle or fingerprint instead")
	}
	p = &measured{name: name, inner: p, calls: b.calls}
	b.made[name] = backend{generation: object.Generation, provider: p}
	return p, nil
}
