package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

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
	uid        types.UID // of the Provider object: one of the same name that is made again is another
	generation int64
	provider   provider.Provider
}

func newBackends(live *capacity.Live, r prometheus.Registerer, makers map[v1alpha1.ProviderType]maker) *backends {
	return &backends{live: live, makers: makers, calls: newProviderCalls(r), made: map[string]backend{}}
}

// checkTime bounds the self-test of a backend.
const checkTime = 2 * time.Minute

// selfTest tells once, when a backend is made, what is dangerous or missing.
func (b *backends) selfTest(object *v1alpha1.Provider, p provider.Provider) {
	if tls := object.Spec.TLS; tls != nil && tls.InsecureSkipVerify {
		b.warn(object, "InsecureTLS", "spec.tls.insecureSkipVerify trusts any server: set caBundle or fingerprint instead")
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	for _, f := range p.Check(ctx) {
		if f.Level == provider.LevelError {
			b.warn(object, "CheckFailed", fmt.Sprintf("%s: %s (%s)", f.Subject, f.Message, f.Hint))
		}
	}
}

// Backend returns the backend of this name. One whose Provider is being deleted makes no machine.
func (b *backends) Backend(name string) (provider.Provider, error) {
	object := b.live.Provider(name)
	if object == nil {
		return nil, fmt.Errorf("provider %s does not exist: %w", name, provider.ErrUnknown)
	}
	p, err := b.backend(object)
	if err == nil && object.DeletionTimestamp != nil {
		return closing{p, name}, nil
	}
	return p, err
}

// closing is the backend of a Provider that is being deleted.
type closing struct {
	provider.Provider
	name string
}

// Create goes on with a machine that is there, and makes none.
func (c closing) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	_, err := c.Get(ctx, provider.Machine{ID: r.ID, Claim: r.Claim, ClaimUID: r.ClaimUID, Attempt: r.Attempt, Cluster: r.Cluster})
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return provider.Machine{}, fmt.Errorf("create %s: provider %s is being deleted: %w", r.Claim, c.name, provider.ErrRefused)
	case err != nil:
		return provider.Machine{}, err
	}
	return c.Provider.Create(ctx, r)
}

func (b *backends) backend(object *v1alpha1.Provider) (provider.Provider, error) {
	name := object.Name
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.made[name]; ok && known.uid == object.UID && known.generation == object.Generation {
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
	p = &measured{name: name, inner: p, calls: b.calls}
	if b.warn != nil {
		go b.selfTest(object, p)
	}
	b.made[name] = backend{uid: object.UID, generation: object.Generation, provider: p}
	return p, nil
}
