package host_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

// stop asks for the host to be off for a restart.
func (o *one) stop() provider.Machine {
	o.t.Helper()
	m, err := o.Provider.Stop(o.t.Context(), o.machine, gatetest.Judge(gate.Stop, o.machine, o.Now()))
	require.NoError(o.t, err)
	return m
}

func TestAHostIsRestartedForItsClaim(t *testing.T) {
	o := oneHost(t, nil)
	o.serve()
	require.Equal(t, provider.StateCreating, o.stop().State)
	require.Equal(t, []host.Call{host.CallOn}, o.lamp.Calls(), "the intent comes before the power")
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostStopped, o.state())
	require.False(t, o.lamp.IsOn())
	o.advance(time.Hour)
	require.Equal(t, v1alpha1.HostStopped, o.state(), "it waits for its claim")
	o.claim("std-000")
	o.serve()
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOn}, o.lamp.Calls())
	require.EqualValues(t, 2, o.status().Wear.PowerCycles)
	require.Contains(t, o.Events(), "host-00 Stopped")
}

func TestAHungHostIsRestartedByForce(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf = true })
	o.serve()
	o.stop()
	o.advance(6 * time.Minute)
	require.Equal(t, v1alpha1.HostStopped, o.state())
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOff}, o.lamp.Calls())
}

// Who claims a stopped host is its claim and nobody else, and a host that does not come on again is told to its claim.
func TestAStoppedHostIsItsClaims(t *testing.T) {
	o := oneHost(t, nil)
	o.serve()
	o.stop()
	o.advance(time.Minute)
	other := ask()
	other.Claim, other.ClaimUID = "std-001", "uid-std-001"
	_, err := o.Provider.Create(t.Context(), other)
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	o.lamp.Lies = true
	o.claim("std-000")
	o.advance(15 * time.Minute)
	require.Equal(t, v1alpha1.HostError, o.state())
	require.Equal(t, host.FaultNoEffect, o.status().Fault)
}

func TestAStopEndsWithTheHostGivenBack(t *testing.T) {
	for name, wait := range map[string]time.Duration{"under way": time.Second, "stopped": time.Minute} {
		t.Run(name, func(t *testing.T) {
			o := oneHost(t, nil)
			o.serve()
			o.stop()
			o.advance(wait)
			o.giveBack()
			o.advance(10 * time.Minute)
			require.Equal(t, v1alpha1.HostOff, o.state())
			require.Nil(t, o.status().Claim)
			require.False(t, o.lamp.IsOn())
		})
	}
}

func TestAHostThatIsPoweredOnOrOffIsNotStopped(t *testing.T) {
	o := oneHost(t, nil)
	_, err := o.Provider.Stop(t.Context(), o.machine, gatetest.Judge(gate.Stop, o.machine, o.Now()))
	require.ErrorIs(t, err, provider.ErrBusy)
	o.serve()
	o.giveBack()
	_, err = o.Provider.Stop(t.Context(), o.machine, gatetest.Judge(gate.Stop, o.machine, o.Now()))
	require.ErrorIs(t, err, provider.ErrBusy)
}

func TestACrashDuringARestartLosesNothing(t *testing.T) {
	for n := range 12 {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			o := oneHost(t, nil)
			o.serve()
			o.stop()
			var left atomic.Int64
			left.Store(int64(n))
			o.Keeper.Leading = func() bool { return left.Add(-1) >= 0 }
			o.advance(time.Minute)
			o.Keeper.Leading = nil
			o.advance(10 * time.Minute)
			require.Equal(t, v1alpha1.HostStopped, o.state())
			o.claim("std-000")
			o.serve()
			require.True(t, o.lamp.IsOn())
		})
	}
}
