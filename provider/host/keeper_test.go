package host_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

// dead is a BMC that takes a connection and says nothing.
type dead struct{ host.Switch }

func (dead) Read(ctx context.Context) (host.Reading, error) {
	<-ctx.Done()
	return host.Reading{}, provider.ErrUnknown
}

// realTime has a rack live by the clock of the test's bubble.
func realTime(r *hosttest.Rack) {
	begin := time.Now()
	r.Keeper.Now = func() time.Time { r.Set(hosttest.Epoch.Add(time.Since(begin))); return r.Now() }
}

// A switch of a rack fails: forty BMCs take connections and say nothing, and each costs 45 seconds. The host that a claim
// waits for is powered on as if nothing were.
func TestDeadBMCsCostTheOthersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rack, lamps := rackOf(t, 41)
		realTime(rack)
		rack.Keeper.Parallel = 4
		rack.Keeper.Switches = hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
			if h.Name == "host-40" {
				return lamps[h.Name], nil
			}
			return dead{lamps[h.Name]}, nil
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { rack.Keeper.Run(ctx); close(ended) }()
		time.Sleep(3 * time.Second) // the first readings of all of them hang
		alone := rack.Objects.Get("host-40")
		alone.Spec.Resources[gpu] = alone.Spec.Resources["cpu"]
		rack.Objects.Put(alone)
		_, err := rack.Provider.Create(ctx, ask("nvidia.com/gpu", "1"))
		require.NoError(t, err)
		time.Sleep(35 * time.Second)
		require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get("host-40").Status.State)
		time.Sleep(time.Hour)
		for n := range 40 {
			require.Positive(t, rack.Objects.Get(hosttest.Host(n, redfishPower).Name).Status.Errors, "each had its turn")
		}
		stop()
		<-ended
	})
}

// The calls of a look at all hosts wait for their turn like all others.
func TestCallsToAllBMCsTogetherAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, perSecond = 100, 20
		rack, lamps := rackOf(t, hosts)
		limit := rate.NewLimiter(perSecond, perSecond)
		paced := hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
			return host.Paced{Switch: lamps[h.Name], Limit: limit}, nil
		})
		p := host.NewProvider(hosttest.ProviderName, rack.Objects, paced, rack.Gate, rack.Now)
		began := time.Now()
		require.Len(t, p.Check(t.Context()), hosts)
		require.InDelta(t, (hosts-perSecond)/perSecond, time.Since(began).Seconds(), 0.1)
		s, err := paced(t.Context(), rack.Objects.Get("host-00"))
		require.NoError(t, err)
		claimed := rack.Objects.Get("host-00")
		claimed.Status.Claim = &v1alpha1.HostClaim{UID: "uid", Attempt: 1}
		permit := hosttest.Permits(claimed, rack.Now)
		began = time.Now()
		for _, call := range []func() error{
			func() error { return s.On(t.Context(), "") }, func() error { return s.Shutdown(t.Context(), permit) },
			func() error { return s.Off(t.Context(), permit) },
		} {
			require.NoError(t, call())
		}
		require.InDelta(t, 3.0/perSecond, time.Since(began).Seconds(), 0.01)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, s.Off(ctx, permit), provider.ErrBusy, "nothing was done")
		require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOff}, lamps["host-00"].Calls())
	})
}
