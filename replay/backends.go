package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/sim"
)

// backends are the simulated providers of a world, by name. A Provider of another type is simulated too, with the
// defaults of type sim: a replay never calls anything real.
type backends map[string]*counted

var _ control.Backends = backends(nil)

// Backend returns the provider of this name.
func (b backends) Backend(name string) (provider.Provider, error) {
	if p := b[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("provider %s does not exist: %w", name, provider.ErrUnknown)
}

func (b backends) names() []string { return slices.Sorted(maps.Keys(b)) }

// newBackends makes a cloud for each Provider. The world's seed is added to the Provider's own.
func newBackends(providers []*v1alpha1.Provider, o *Options, now func() time.Time, saw func(provider.Machine)) (backends, error) {
	all := backends{}
	for _, p := range providers {
		config := sim.ConfigOf(p.Spec.Sim)
		config.Seed += o.Seed
		config.Apart = o.Apart
		cloud, err := sim.NewCloud(config)
		if err != nil {
			return nil, fmt.Errorf("provider %s: %w", p.Name, err)
		}
		all[p.Name] = &counted{cloud: cloud, inner: sim.NewProvider(cloud, now), saw: saw}
	}
	return all, nil
}

func (b backends) clouds() []*sim.Cloud {
	var all []*sim.Cloud
	for _, name := range b.names() {
		all = append(all, b[name].cloud)
	}
	return all
}

// counted tells of every machine that a provider shows.
type counted struct {
	cloud *sim.Cloud
	inner provider.Provider
	saw   func(provider.Machine)
}

// Create passes on.
func (c *counted) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	m, err := c.inner.Create(ctx, r)
	if err == nil {
		c.saw(m)
	}
	return m, err
}

// Get passes on.
func (c *counted) Get(ctx context.Context, m provider.Machine) (provider.Machine, error) {
	found, err := c.inner.Get(ctx, m)
	if err == nil {
		c.saw(found)
	}
	return found, err
}

// List passes on.
func (c *counted) List(ctx context.Context) ([]provider.Machine, error) {
	machines, err := c.inner.List(ctx)
	for _, m := range machines {
		c.saw(m)
	}
	return machines, err
}

// Delete passes on.
func (c *counted) Delete(ctx context.Context, m provider.Machine, p gate.Proof) error {
	return c.inner.Delete(ctx, m, p)
}

// Stop passes on.
func (c *counted) Stop(ctx context.Context, m provider.Machine, p gate.Proof) (provider.Machine, error) {
	return c.inner.Stop(ctx, m, p)
}

// Check passes on.
func (c *counted) Check(ctx context.Context) []provider.Finding { return c.inner.Check(ctx) }
