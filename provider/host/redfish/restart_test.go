package redfish_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/control/controltest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

// underFate is a rack of two hosts. Each request to a BMC, and each to the API server for a host, may be the last one of a Muster.
func underFate(t *testing.T, f *controltest.Fate, p redfishsim.Personality, befalls func(*redfishsim.BMC)) controltest.Backend {
	f.ReadsPerDeed = 100 // each look of the provider, the keeper and the gate reads all hosts
	rack, room := rackBy(t, 2, p, true)
	rack.OverTheWire(t, room.wire)
	room.wire.Gate = f.Request
	start := func() controltest.Process {
		rack.Restart()
		for name, sim := range room.sims { // sessions and tasks are forgotten
			room.bmcs[name] = room.client(name, sim)
		}
		return controltest.Process{Provider: rack.Provider, Tick: func(ctx context.Context, c *v1alpha1.NodeClaim) {
			rack.Claims.Set(c.UID, host.ClaimSight{State: c.Status.State, Served: c.Status.ReadyAt != nil})
			if err := rack.Keeper.Pass(ctx); err != nil {
				require.True(t, f.Dead(), "%v", err)
			}
			rack.Keeper.Wait()
		}}
	}
	return controltest.Backend{
		Provider: hosttest.ProviderName, Now: rack.Now, Start: start,
		Advance: func(d time.Duration) { rack.Set(rack.Now().Add(d)) },
		Trouble: func() {
			for _, sim := range room.sims {
				if befalls != nil {
					befalls(sim)
				}
			}
		},
		Power: func() (all controltest.Power) {
			for _, sim := range room.sims {
				on, ons, offs := sim.Went()
				all = controltest.Power{On: all.On || on, Ons: all.Ons + ons, Offs: all.Offs + offs}
			}
			return all
		},
	}
}

// A silent node is restarted once, wherever in between Muster is killed.
func TestMusterKilledInARestart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		personality redfishsim.Personality
		befalls     func(*redfishsim.BMC)
	}{
		"of an iLO's host":     {redfishsim.ILO5(), nil},
		"of a host that hangs": {redfishsim.IDRAC9(), (*redfishsim.BMC).Deafen},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			controltest.Restarts(t, func(t *testing.T, f *controltest.Fate) controltest.Backend {
				return underFate(t, f, c.personality, c.befalls)
			})
		})
	}
}
