package redfish_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

var taskKinds = []redfishsim.TaskKind{redfishsim.TaskResource, redfishsim.TaskMonitor, redfishsim.TaskInBody, redfishsim.TaskAbsolute,
	redfishsim.TaskUntold, redfishsim.TaskGone}

func withTasks(kind redfishsim.TaskKind, fails bool) redfishsim.Personality {
	p := redfishsim.Quanta()
	p.TaskKind, p.TaskFails, p.Transitions = kind, fails, false
	return p
}

// one is the system of a bench.
var one = v1alpha1.MachineIdentity{Address: "bmc-01.example", System: "1", SystemUUID: hosttest.UUID(1), Serial: "SN-1"}

func TestAnAcceptedTaskIsDoneWhenThePowerReadsSo(t *testing.T) {
	for _, kind := range taskKinds {
		b := newBench(t, withTasks(kind, false))
		require.NoError(t, b.On(t.Context(), ""), kind)
		for _, want := range []host.Power{host.Off, host.On} {
			r, err := b.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, host.Reading{Power: want, SystemUUID: hosttest.UUID(1), Identity: one}, r, kind)
			b.pass(time.Minute)
		}
	}
}

func TestATaskThatFailedSaysWhy(t *testing.T) {
	for _, kind := range []redfishsim.TaskKind{redfishsim.TaskResource, redfishsim.TaskMonitor, redfishsim.TaskInBody, redfishsim.TaskAbsolute} {
		b := newBench(t, withTasks(kind, true))
		require.NoError(t, b.On(t.Context(), ""))
		for range 2 {
			r, err := b.Read(t.Context())
			require.NoError(t, err)
			require.Equal(t, host.Off, r.Power)
			require.Contains(t, r.Failed, "the power supply does not answer", kind)
		}
		b.BMC.TaskFails = false
		require.NoError(t, b.On(t.Context(), ""))
		b.pass(time.Minute)
		r, err := b.Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, host.Reading{Power: host.On, SystemUUID: hosttest.UUID(1), Identity: one}, r, "that was another task")
	}
}

// The claim is told what the BMC's task said, not only that nothing happened.
func TestAFailedTaskIsInTheReasonOfTheHost(t *testing.T) {
	rack, _ := rackOf(t, 1, withTasks(redfishsim.TaskMonitor, true))
	m, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, 5*time.Minute)
	m, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, m.State)
	require.Contains(t, m.Message, "the power supply does not answer")
}

func TestABootDeviceThatOutlivesItsBootIsCleared(t *testing.T) {
	for name, p := range redfishsim.All() {
		t.Run(name, func(t *testing.T) {
			p.BootStays = true
			b := newBench(t, p)
			require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
			b.pass(time.Minute)
			b.reads(host.On)
			require.Contains(t, b.Boot(), "Pxe/")
			require.NoError(t, b.ClearBoot(t.Context()))
			require.Equal(t, "None/Disabled", b.Boot())
			before := len(b.Requests())
			require.NoError(t, b.ClearBoot(t.Context()), "cleared already")
			for _, request := range b.Requests()[before:] {
				require.NotContains(t, request, "PATCH")
			}
		})
	}
	for name, change := range map[string]func(*redfishsim.Personality){
		"where None is no target":             func(p *redfishsim.Personality) { p.NoneRefused = true },
		"where Disabled follows from None":    func(p *redfishsim.Personality) { p.DisabledRefused = true },
		"where None is not allowed by a list": func(p *redfishsim.Personality) { p.Boots = []string{"Pxe", "Hdd"} },
	} {
		for vendor, p := range redfishsim.All() {
			t.Run(vendor+" "+name, func(t *testing.T) {
				p.BootStays = true
				change(&p)
				b := newBench(t, p)
				require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
				b.pass(time.Minute)
				b.reads(host.On)
				require.NoError(t, b.ClearBoot(t.Context()))
				require.Contains(t, b.Boot(), "/Disabled")
			})
		}
	}
	t.Run("one that refuses every form is told as refused", func(t *testing.T) {
		p := redfishsim.ILO5()
		p.BootStays, p.NoneRefused, p.DisabledRefused = true, true, true
		b := newBench(t, p)
		require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
		b.pass(time.Minute)
		require.ErrorIs(t, b.ClearBoot(t.Context()), provider.ErrRefused)
	})
	t.Run("one that does not go is not called gone", func(t *testing.T) {
		p := redfishsim.Quanta()
		p.BootGlued = true
		b := newBench(t, p)
		require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
		require.ErrorIs(t, b.ClearBoot(t.Context()), provider.ErrBusy)
	})
}

// Through the whole life of a host: set before power-on, cleared when its node is ready.
func TestTheBootDeviceIsClearedWhenTheNodeIsReady(t *testing.T) {
	p := redfishsim.Quanta() // makes Continuous of Once
	rack, room := rackOf(t, 1, p)
	h := rack.Objects.Get("host-00")
	h.Spec.Power.Boot = v1alpha1.BootPXE
	rack.Objects.Put(h)
	_, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, 2*time.Minute)
	require.Equal(t, "Pxe/Continuous", room.sims["host-00"].Boot())
	require.Equal(t, v1alpha1.BootPXE, rack.Objects.Get("host-00").Status.BootOverride)
	rack.Claims.Set("uid", host.ClaimSight{State: v1alpha1.ClaimReady})
	rack.Advance(t, 2*time.Minute)
	require.Equal(t, "None/Disabled", room.sims["host-00"].Boot())
	require.Empty(t, rack.Objects.Get("host-00").Status.BootOverride)
	require.Equal(t, []string{"On"}, room.sims["host-00"].Taken())
}

func TestETagsAreSentBackInTheFormThatABMCTakes(t *testing.T) {
	for _, kind := range []redfishsim.TagKind{redfishsim.TagWeak, redfishsim.TagWantStrong, redfishsim.TagGzip} {
		p := redfishsim.SupermicroX10()
		p.TagKind = kind
		b := newBench(t, p)
		require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE), kind)
		require.Equal(t, "Pxe/Once", b.Boot())
		require.Equal(t, []string{"On"}, b.Taken())
	}
}

func TestASystemWithoutAResetActionIsRefused(t *testing.T) {
	b := newBench(t, redfishsim.Personality{NoReset: true})
	require.ErrorIs(t, b.On(t.Context(), ""), provider.ErrRefused)
	b.Set(true)
	require.ErrorIs(t, b.Off(t.Context(), b.permit()), provider.ErrRefused)
	require.ErrorIs(t, b.Shutdown(t.Context(), b.permit()), host.ErrNoShutdown)
	_, err := redfish.Switch{BMC: b.bmc}.Read(t.Context())
	require.NoError(t, err, "it can be read")
}
