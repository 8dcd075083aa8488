package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

// again makes the Host object anew under its name, as `kubectl replace --force` does.
func (o *one) again() {
	h := hosttest.Host(0, redfishPower)
	h.UID = "made-again"
	o.Objects.Put(h)
}

// A Host object that is missing, made again or given another Provider proves nothing about the machine that a claim switched on: it
// is not "gone", nothing is switched, and its claim is told.
func TestM06AHostThatWasMadeAgainIsNotGone(t *testing.T) {
	for name, change := range map[string]func(o *one){
		"made again": (*one).again,
		"deleted":    func(o *one) { o.Objects.Remove("host-00") },
		"given another provider": func(o *one) {
			h := o.host()
			h.Spec.Provider = "another"
			o.Objects.Put(h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := oneHost(t, nil)
			o.serve()
			change(o)
			before := o.lamp.Calls()
			for range 3 {
				_, err := o.Provider.Get(t.Context(), o.machine)
				require.ErrorIs(t, err, provider.ErrUnknown)
				require.NotErrorIs(t, err, provider.ErrNotFound)
				err = o.Provider.Delete(t.Context(), o.machine, gatetest.Judge(gate.Delete, o.machine, o.Now()))
				require.Error(t, err)
				require.NotErrorIs(t, err, provider.ErrNotFound)
				_, err = o.Provider.Stop(t.Context(), o.machine, gatetest.Judge(gate.Stop, o.machine, o.Now()))
				require.Error(t, err)
				require.NotErrorIs(t, err, provider.ErrNotFound)
				o.advance(time.Hour)
			}
			require.Equal(t, before, o.lamp.Calls())
			require.True(t, o.lamp.IsOn())
		})
	}
}

// What the Host itself says was given back is gone, and a claim without a machine has none.
func TestM06OnlyTheHostItselfProvesThatAClaimGaveItBack(t *testing.T) {
	o := oneHost(t, nil)
	o.serve()
	o.giveBack()
	o.advance(time.Minute)
	_, err := o.Provider.Get(t.Context(), o.machine)
	require.ErrorIs(t, err, provider.ErrNotFound)
	_, err = o.Provider.Get(t.Context(), provider.Machine{ClaimUID: "never"})
	require.ErrorIs(t, err, provider.ErrNotFound)
}

// A host is claimed with the gate's permission only, and the next one is tried.
func TestM06AHostIsHandedOverByTheGateOnly(t *testing.T) {
	rack, _ := rackOf(t, 1)
	rack.Gate.Refuse(&gate.Refusal{Act: gate.HandOver, Reason: "PodsOnNode", Missing: []gate.Item{{Clause: "no pod is left", Found: "pods are bound there: a/b"}}})
	_, err := rack.Provider.Create(t.Context(), ask())
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	require.ErrorContains(t, err, "pods are bound there: a/b")
	require.Nil(t, rack.Objects.Get("host-00").Status.Claim)
	rack.Gate.Refuse(errors.New("the API server is away"))
	_, err = rack.Provider.Create(t.Context(), ask())
	require.ErrorIs(t, err, provider.ErrBusy, "asked again")
	rack.Gate.Refuse(nil)
	_, err = rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	none := host.NewProvider(hosttest.ProviderName, rack.Objects, nil, nil, rack.Now)
	other := ask()
	other.ClaimUID = "other"
	_, err = none.Create(t.Context(), other)
	require.Error(t, err)
}

// What was given back a moment ago is waited for.
func TestM06AHostThatWasJustGivenBackIsWaitedFor(t *testing.T) {
	o := oneHost(t, nil)
	o.serve()
	o.giveBack()
	o.advance(40 * time.Second)
	require.Equal(t, v1alpha1.HostOff, o.state())
	o.Gate.Refuse(&gate.Refusal{Act: gate.HandOver, Reason: "NodeRemains"})
	r := ask()
	r.Claim, r.ClaimUID = "std-001", "uid-std-001"
	_, err := o.Provider.Create(t.Context(), r)
	require.ErrorIs(t, err, provider.ErrBusy)
	o.advance(2 * time.Minute)
	_, err = o.Provider.Create(t.Context(), r)
	require.ErrorIs(t, err, provider.ErrNoCapacity, "other pools may take its pods")
}

// The Node of a claim is remembered by its host, past the claim.
func TestM06AHostRemembersTheNodeOfItsLastClaim(t *testing.T) {
	o := oneHost(t, nil)
	o.advance(time.Minute)
	o.claimIs(host.ClaimSight{State: v1alpha1.ClaimReady, NodeName: "metal-7", NodeUID: "node-uid"})
	o.advance(2 * time.Minute)
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, "metal-7", o.status().Released.NodeName)
	require.Equal(t, types.UID("node-uid"), o.status().Released.NodeUID)
}

// Without the gate's permission no power is taken, also not by force or later; the host says why. Its claim is not told that the
// machine is gone, and its own node may still go off by itself.
func TestNoPowerIsTakenWithoutTheGate(t *testing.T) {
	o := oneHost(t, nil)
	o.serve()
	o.giveBack()
	o.Gate.Refuse(&gate.Refusal{Act: gate.PowerOff, Reason: "PodsOnNode", Missing: []gate.Item{{Clause: "no pod is left", Found: "pods are bound there: a/b on metal-7"}}})
	o.advance(time.Hour)
	require.Equal(t, v1alpha1.HostPoweringOff, o.state())
	require.Contains(t, o.status().Message, "a/b on metal-7")
	require.Equal(t, []host.Call{host.CallOn}, o.lamp.Calls())
	blocked := meta.FindStatusCondition(o.status().Conditions, v1alpha1.ConditionPowerOffBlocked)
	require.Equal(t, "PodsOnNode", blocked.Reason)
	told := 0
	for _, e := range o.Events() {
		if e == "host-00 PodsOnNode" {
			told++
		}
	}
	require.Equal(t, 1, told, "once for each reason")
	o.Gate.Refuse(nil)
	o.advance(time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls())
	require.Equal(t, v1alpha1.HostOff, o.state())
	require.False(t, meta.IsStatusConditionTrue(o.status().Conditions, v1alpha1.ConditionPowerOffBlocked))

	dark := oneHost(t, nil)
	dark.Keeper.Gate = nil
	dark.serve()
	dark.giveBack()
	dark.advance(time.Hour)
	require.Equal(t, []host.Call{host.CallOn}, dark.lamp.Calls(), "nothing is wired that could permit")
}

// twins are two Host objects of one BMC and system, as a copy of a manifest with another name makes them.
func twins(t *testing.T) (*hosttest.Rack, *hosttest.Lamp) {
	t.Helper()
	rack, lamps := rackOf(t, 1)
	lamp := lamps["host-00"]
	other := &hosttest.Lamp{Clock: rack.Clock, Identity: lampOf(hosttest.Host(99, redfishPower))}
	rack.Keeper.Switches = hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
		if h.Spec.Power.Address == "https://bmc-99.example" {
			return other, nil
		}
		return lamp, nil
	})
	return rack, lamp
}

// twin is the second Host object.
func twin() *v1alpha1.Host {
	h := hosttest.Host(0, redfishPower)
	h.Name, h.UID = "host-00-copy", "copy"
	return h
}

// The second claim's failure once switched the first claim's serving node off.
func TestM10TheTwinOfAServingHostIsNotSwitchedAndNotClaimed(t *testing.T) {
	rack, lamp := twins(t)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	rack.Advance(t, 2*time.Minute)
	rack.Claims.Set(m.ClaimUID, host.ClaimSight{State: v1alpha1.ClaimReady})
	rack.Advance(t, 2*time.Minute)
	require.Equal(t, v1alpha1.HostReady, rack.Objects.Get("host-00").Status.State)

	rack.Objects.Put(twin())
	other := ask()
	other.Claim, other.ClaimUID = "std-001", "other"
	_, err = rack.Provider.Create(t.Context(), other)
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	require.ErrorContains(t, err, "not to be told apart from another Host")
	rack.Advance(t, time.Hour)
	copied := rack.Objects.Get("host-00-copy").Status
	require.Equal(t, v1alpha1.HostQuarantined, copied.State)
	require.Contains(t, copied.Quarantine.Message, "host host-00 (both have BMC bmc-00.example)")
	_, err = rack.Provider.Create(t.Context(), other)
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	require.Equal(t, v1alpha1.HostReady, rack.Objects.Get("host-00").Status.State, "its pods are not stopped")
	require.Equal(t, []host.Call{host.CallOn}, lamp.Calls())

	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, time.Hour)
	require.Equal(t, []host.Call{host.CallOn}, lamp.Calls(), "nor is it switched off while its twin may be somebody's")
	require.Contains(t, rack.Objects.Get("host-00").Status.Message, "host-00-copy")
	rack.Objects.Remove("host-00-copy")
	rack.Advance(t, 10*time.Minute)
	require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State, "and then it is")
}

// A claim that a Muster of an earlier version gave to the twin fails, and takes nobody's power.
func TestM10AClaimOnATwinFailsWithoutTakingPower(t *testing.T) {
	rack, lamp := twins(t)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	rack.Advance(t, 2*time.Minute)
	copied := twin()
	copied.Status.State = v1alpha1.HostPoweringOn
	now := rack.Now()
	copied.Status.Claim = &v1alpha1.HostClaim{Name: "std-001", UID: "other", Attempt: 1}
	copied.Status.Claim.At.Time = now
	rack.Objects.Put(copied)
	rack.Advance(t, time.Minute)
	second, err := rack.Provider.Get(t.Context(), provider.Machine{ID: "host-00-copy", Claim: "std-001", ClaimUID: "other", Attempt: 1})
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, second.State)
	require.Contains(t, second.Message, host.FaultAmbiguous)
	require.NoError(t, rack.Provider.Delete(t.Context(), second, gatetest.Judge(gate.Delete, second, rack.Now())))
	rack.Advance(t, time.Hour)
	require.Equal(t, []host.Call{host.CallOn}, lamp.Calls())
	require.True(t, lamp.IsOn(), "the first claim's node serves on")
	got, err := rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateRunning, got.State)
}

// Two free hosts that one BMC answers for: both are kept out until their names, serial numbers or one of the objects tells them apart.
func TestM10FreeTwinsAreQuarantinedUntilTheyAreToldApart(t *testing.T) {
	rack, _ := twins(t)
	rack.Objects.Put(twin())
	rack.Advance(t, time.Minute)
	for name, other := range map[string]string{"host-00": "host-00-copy", "host-00-copy": "host-00"} {
		st := rack.Objects.Get(name).Status
		require.Equal(t, v1alpha1.HostQuarantined, st.State, name)
		require.Equal(t, host.FaultAmbiguous, st.Quarantine.Reason)
		require.Contains(t, st.Quarantine.Message, "host "+other+" ")
		require.Nil(t, st.Quarantine.Until)
	}
	copied := rack.Objects.Get("host-00-copy")
	copied.Spec.Power.Address, copied.Spec.SystemUUID = "https://bmc-99.example", hosttest.UUID(99)
	copied.Status.Identity = nil
	rack.Objects.Put(copied)
	rack.Advance(t, 10*time.Minute)
	require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State, "by itself")
}

// A machine that is on, and whose BMC tells no power state for a while, is not gone.
func TestM11WithoutAPowerStateNothingIsGone(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf, l.Stuck = true, true })
	o.serve()
	o.giveBack()
	o.advance(time.Minute)
	o.lamp.Tell(false)
	o.advance(24 * time.Hour)
	require.Equal(t, v1alpha1.HostPoweringOff, o.state())
	m, err := o.Provider.Get(t.Context(), o.machine)
	require.NoError(t, err)
	require.Equal(t, provider.StateDeleting, m.State)
	require.True(t, o.lamp.IsOn())
	blocked := meta.FindStatusCondition(o.status().Conditions, v1alpha1.ConditionPowerOffBlocked)
	require.Equal(t, host.FaultPowerUnknown, blocked.Reason)
	require.Contains(t, blocked.Message, "muster confirm-gone std-000")
	require.Less(t, len(o.lamp.Calls()), 700, "it is not hammered")

	o.lamp.Set(false)
	o.lamp.Tell(true)
	o.advance(10 * time.Minute)
	require.Equal(t, v1alpha1.HostOff, o.state(), "a reading ends it")
}

// A person's word, which the gate took, frees the claim; the host itself is for the operator to return.
func TestM11APersonsWordStandsInForAReading(t *testing.T) {
	for name, word := range map[string]func(o *one){
		"the claim waits no more":    func(o *one) { o.claimIs(host.ClaimSight{State: v1alpha1.ClaimReleasing, Gone: true}) },
		"the claim is at the next":   func(o *one) { o.claimIs(host.ClaimSight{State: v1alpha1.ClaimLaunching, Confirmed: true, Attempt: 2}) },
		"the claim itself is gone":   func(o *one) { o.Claims.Forget(o.machine.ClaimUID); o.Gate.Gone(o.machine.ClaimUID) },
		"an operator returns it":     func(o *one) { o.returned("burnt, and replaced") },
		"the BMC does not answer":    func(o *one) { o.burn(); o.claimIs(host.ClaimSight{State: v1alpha1.ClaimReleasing, Gone: true}) },
		"silent, and it is returned": func(o *one) { o.burn(); o.returned("burnt") },
	} {
		t.Run(name, func(t *testing.T) {
			o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf, l.Stuck = true, true })
			o.serve()
			o.giveBack()
			o.lamp.Tell(false)
			o.advance(time.Hour)
			require.Equal(t, v1alpha1.HostPoweringOff, o.state())
			word(o)
			o.advance(20 * time.Minute)
			require.Nil(t, o.status().Claim)
			_, err := o.Provider.Get(t.Context(), o.machine)
			require.ErrorIs(t, err, provider.ErrNotFound)
			if o.state() == v1alpha1.HostQuarantined {
				require.Equal(t, host.FaultPowerUnknown, o.status().Quarantine.Reason)
				require.Nil(t, o.status().Quarantine.Until)
			}
		})
	}
	o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf, l.Stuck = true, true })
	o.serve()
	o.giveBack()
	o.advance(time.Minute)
	o.returned("I believe it is off")
	o.claimIs(host.ClaimSight{State: v1alpha1.ClaimReleasing, Gone: true})
	o.advance(time.Hour)
	require.Equal(t, v1alpha1.HostPoweringOff, o.state(), "no word stands against a reading that says on")
}

// returned has an operator return the host.
func (o *one) returned(why string) {
	h := o.host()
	h.Annotations = map[string]string{v1alpha1.ReturnHostAnnotation: why}
	o.Objects.Put(h)
}

// burn has the BMC answer nothing any more.
func (o *one) burn() {
	for range 2000 {
		o.lamp.Fail(fmt.Errorf("no route to host: %w", provider.ErrUnknown))
	}
}

// The BMC turned the power-on down; then a person switched the host on. It is that person's, and stays on.
func TestM12PowerThatAPersonSwitchedOnIsNotTaken(t *testing.T) {
	for name, answer := range map[string]error{
		"busy":          fmt.Errorf("503: %w", provider.ErrBusy),
		"refused":       fmt.Errorf("400: %w", provider.ErrRefused),
		"misconfigured": fmt.Errorf("403: %w", provider.ErrMisconfigured),
	} {
		t.Run(name, func(t *testing.T) {
			o := oneHost(t, nil)
			o.lamp.Fail(nil, answer) // the reading, and the power-on
			o.advance(0)
			require.Equal(t, []host.Call{host.CallOn}, o.lamp.Calls())
			o.lamp.Set(true)
			o.advance(5 * time.Minute)
			require.Equal(t, v1alpha1.HostError, o.state())
			require.False(t, o.status().SwitchedOn)
			o.giveBack()
			o.advance(time.Hour)
			require.Equal(t, []host.Call{host.CallOn}, o.lamp.Calls())
			require.True(t, o.lamp.IsOn())
		})
	}
}

// A power-on that may have been carried out keeps its intent: what is on after it is ours.
func TestM12APowerOnThatMayHaveWorkedIsOurs(t *testing.T) {
	o := oneHost(t, nil)
	o.lamp.Fail(nil, fmt.Errorf("connection reset: %w", provider.ErrUnknown))
	o.advance(0)
	require.True(t, o.status().SwitchedOn)
	o.lamp.Fail(nil, fmt.Errorf("503: %w", provider.ErrBusy)) // of a second try
	o.advance(90 * time.Second)
	require.True(t, o.status().SwitchedOn)
}

// Another machine answers while its host is free: it is not claimed, and only an operator says that it is the host's now.
func TestM09AFreeHostWhoseMachineIsAnotherIsQuarantined(t *testing.T) {
	rack, lamps := rackOf(t, 1)
	rack.Advance(t, time.Minute)
	recorded := rack.Objects.Get("host-00").Status.Identity
	require.NotNil(t, recorded)
	other := *recorded
	other.SystemUUID = hosttest.UUID(7)
	lamps["host-00"].Is(other)
	rack.Advance(t, 10*time.Minute)
	st := rack.Objects.Get("host-00").Status
	require.Equal(t, v1alpha1.HostQuarantined, st.State)
	require.Equal(t, host.FaultIdentity, st.Quarantine.Reason)
	require.Equal(t, recorded, st.Identity)
	require.Contains(t, rack.Events(), "host-00 IdentityMismatch")
	_, err := rack.Provider.Create(t.Context(), ask())
	require.ErrorIs(t, err, provider.ErrNoCapacity)

	h := rack.Objects.Get("host-00")
	h.Annotations = map[string]string{v1alpha1.ReturnHostAnnotation: "new board"}
	h.Spec.SystemUUID = hosttest.UUID(7)
	rack.Objects.Put(h)
	rack.Advance(t, 10*time.Minute)
	require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State)
	require.Equal(t, hosttest.UUID(7), rack.Objects.Get("host-00").Status.Identity.SystemUUID)
	_, err = rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
}

// Before anything was switched on for it, a claim gets another host.
func TestM09AClaimOnAnotherMachineFailsBeforeAnythingIsSwitched(t *testing.T) {
	rack, lamps := rackOf(t, 1)
	rack.Advance(t, time.Minute)
	other := *rack.Objects.Get("host-00").Status.Identity
	other.SystemUUID = hosttest.UUID(7)
	lamps["host-00"].Is(other)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	rack.Advance(t, time.Minute)
	m, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, m.State)
	require.Contains(t, m.Message, host.FaultIdentity)
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, 10*time.Minute)
	require.Equal(t, v1alpha1.HostQuarantined, rack.Objects.Get("host-00").Status.State)
	require.Empty(t, lamps["host-00"].Calls())
}

// An interface that tells nothing is told when the host is added, and not at its first release.
func TestAHostThatCanGiveNoProofIsToldSoAtOnce(t *testing.T) {
	rack, lamps := rackOf(t, 1)
	lamps["host-00"].Is(v1alpha1.MachineIdentity{Address: "bmc-00.example"})
	rack.Advance(t, time.Second)
	c := meta.FindStatusCondition(rack.Objects.Get("host-00").Status.Conditions, v1alpha1.ConditionIdentified)
	require.NotNil(t, c)
	require.Equal(t, "NoProof", c.Reason)
	require.Contains(t, c.Message, "its Node can witness")
	require.Contains(t, rack.Events(), "host-00 NoProof")
	findings := rack.Provider.Check(t.Context())
	require.Equal(t, provider.LevelWarning, findings[0].Level)
	require.Equal(t, c.Message, findings[0].Message)
}
