package sim_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/providertest"
	"github.com/muster-sh/muster/provider/sim"
)

// watch is a clock that is set by hand.
type watch struct{ passed atomic.Int64 }

var epoch = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func (w *watch) Now() time.Time          { return epoch.Add(time.Duration(w.passed.Load())) }
func (w *watch) Advance(d time.Duration) { w.passed.Add(int64(d)) }

func newCloud(t *testing.T, config sim.Config) *sim.Cloud {
	t.Helper()
	cloud, err := sim.NewCloud(config)
	require.NoError(t, err)
	return cloud
}

func backend(t *testing.T) (providertest.Backend, *sim.Cloud, *watch) {
	cloud, clock := newCloud(t, sim.DefaultConfig()), &watch{}
	return providertest.Backend{
		Advance: clock.Advance,
		Now:     clock.Now,
		Count:   func() int { return len(cloud.List(clock.Now())) },
		Foreign: map[string]func() (provider.ID, func() bool){"a machine": func() (provider.ID, func() bool) {
			const id = provider.ID("somebody-elses")
			_, err := cloud.Create(provider.Request{Claim: string(id), ClaimUID: "foreign", Attempt: 1,
				Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}, clock.Now())
			require.NoError(t, err)
			return provider.ID(identity.MadeNodeName(string(id), "foreign", 1)), func() bool {
				m, err := cloud.Get("foreign", clock.Now())
				return err == nil && m.State == provider.StateRunning
			}
		}},
	}, cloud, clock
}

func TestTheProviderInThisProcessKeepsTheContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Backend {
		b, cloud, clock := backend(t)
		b.Provider = sim.NewProvider(cloud, clock.Now)
		return b
	})
}

func TestTheClientKeepsTheContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Backend {
		b, cloud, clock := backend(t)
		server := httptest.NewServer(sim.NewServer(cloud, clock.Now))
		t.Cleanup(server.Close)
		b.Wire = &providertest.Wire{Base: http.DefaultTransport}
		client, err := sim.NewClient(server.URL, b.Wire, clock.Now)
		require.NoError(t, err)
		b.Provider = client
		return b
	})
}
