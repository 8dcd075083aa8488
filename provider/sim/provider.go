package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// Provider is a Cloud in this process, with a clock.
type Provider struct {
	cloud *Cloud
	now   func() time.Time
}

var _ provider.Provider = (*Provider)(nil)

// NewProvider returns the verbs over a Cloud.
func NewProvider(cloud *Cloud, now func() time.Time) *Provider {
	return &Provider{cloud: cloud, now: now}
}

// Create asks the Cloud for a machine.
func (p *Provider) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	if err := over(ctx); err != nil {
		return provider.Machine{}, err
	}
	return p.cloud.Create(r, p.now())
}

// Get looks a machine up.
func (p *Provider) Get(ctx context.Context, m provider.Machine) (provider.Machine, error) {
	if err := over(ctx); err != nil {
		return provider.Machine{}, err
	}
	return p.cloud.Get(m.ClaimUID, p.now())
}

// List returns every machine.
func (p *Provider) List(ctx context.Context) ([]provider.Machine, error) {
	if err := over(ctx); err != nil {
		return nil, err
	}
	return p.cloud.List(p.now()), nil
}

// Delete gives a machine back.
func (p *Provider) Delete(ctx context.Context, m provider.Machine, proof gate.Proof) error {
	if err := over(ctx); err != nil {
		return err
	}
	return p.cloud.Delete(m, p.now(), func(met provider.Machine) error {
		return provider.Spend(proof, gate.Delete, m, met.Identity, p.now())
	})
}

// Stop takes a machine's power away.
func (p *Provider) Stop(ctx context.Context, m provider.Machine, proof gate.Proof) (provider.Machine, error) {
	if err := over(ctx); err != nil {
		return provider.Machine{}, err
	}
	return p.cloud.Stop(m, p.now(), func(met provider.Machine) error {
		return provider.Spend(proof, gate.Stop, m, met.Identity, p.now())
	})
}

// Check has nothing to look at: these machines need nothing.
func (p *Provider) Check(context.Context) []provider.Finding {
	return []provider.Finding{{Subject: "simulated machines", Level: provider.LevelOK, Message: "in this process"}}
}

// over says that nobody waits for the answer any more.
func over(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	return nil
}
