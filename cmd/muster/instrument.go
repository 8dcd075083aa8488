package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/replay/recording"
)

// callTimeout bounds one call to a provider; past it the outcome is unknown. A Proxmox host that does not answer is given up
// by its own cluster after 31 s, which says more than our giving up.
const callTimeout = 45 * time.Second

// providerCalls measures calls to providers from outside.
type providerCalls struct {
	duration *prometheus.HistogramVec
	observe  func(recording.ProviderCall)
}

func newProviderCalls(r prometheus.Registerer) *providerCalls {
	m := &providerCalls{observe: func(recording.ProviderCall) {}, duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "muster_provider_call_duration_seconds", Help: "Calls to providers by verb and outcome.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
	}, []string{"provider", "verb", "outcome"})}
	r.MustRegister(m.duration)
	return m
}

// measured is a provider whose calls are timed, counted and bounded.
type measured struct {
	name  string
	inner provider.Provider
	calls *providerCalls
}

var outcomes = map[error]string{
	provider.ErrNotFound: "not_found", provider.ErrNoCapacity: "no_capacity", provider.ErrBusy: "busy",
	provider.ErrRefused: "refused", provider.ErrMisconfigured: "misconfigured", provider.ErrUnknown: "unknown",
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return outcomes[provider.KindOf(err)]
}

func (m *measured) call(ctx context.Context, verb, claim string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	start := time.Now()
	err := do(ctx)
	took := time.Since(start)
	m.calls.duration.WithLabelValues(m.name, verb, outcome(err)).Observe(took.Seconds())
	m.calls.observe(recording.ProviderCall{
		Provider: m.name, Verb: verb, Claim: claim, Outcome: outcome(err), Micros: took.Microseconds(),
	})
	return err
}

func (m *measured) Create(ctx context.Context, r provider.Request) (machine provider.Machine, err error) {
	err = m.call(ctx, "create", r.Claim, func(ctx context.Context) error { machine, err = m.inner.Create(ctx, r); return err })
	return machine, err
}

func (m *measured) Get(ctx context.Context, of provider.Machine) (machine provider.Machine, err error) {
	err = m.call(ctx, "get", of.Claim, func(ctx context.Context) error { machine, err = m.inner.Get(ctx, of); return err })
	return machine, err
}

func (m *measured) List(ctx context.Context) (machines []provider.Machine, err error) {
	err = m.call(ctx, "list", "", func(ctx context.Context) error { machines, err = m.inner.List(ctx); return err })
	return machines, err
}

func (m *measured) Delete(ctx context.Context, machine provider.Machine, p gate.Proof) error {
	return m.call(ctx, "delete", machine.Claim, func(ctx context.Context) error { return m.inner.Delete(ctx, machine, p) })
}

func (m *measured) Stop(ctx context.Context, of provider.Machine, p gate.Proof) (machine provider.Machine, err error) {
	err = m.call(ctx, "stop", of.Claim, func(ctx context.Context) error { machine, err = m.inner.Stop(ctx, of, p); return err })
	return machine, err
}

func (m *measured) Check(ctx context.Context) (findings []provider.Finding) {
	_ = m.call(ctx, "check", "", func(ctx context.Context) error { findings = m.inner.Check(ctx); return nil })
	return findings
}
