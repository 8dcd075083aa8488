package host_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
)

// one is a rack of one host, claimed.
type one struct {
	*hosttest.Rack
	t       *testing.T
	lamp    *hosttest.Lamp
	machine provider.Machine
}

func oneHost(t *testing.T, prepare func(*hosttest.Lamp)) *one {
	rack, lamps := rackOf(t, 1)
	lamp := lamps["host-00"]
	if prepare != nil {
		prepare(lamp)
	}
	o := &one{Rack: rack, t: t, lamp: lamp}
	o.claim("std-000")
	return o
}

func (o *one) claim(name string) {
	o.t.Helper()
	r := ask()
	r.Claim, r.ClaimUID = name, types.UID("uid-"+name)
	m, err := o.Provider.Create(o.t.Context(), r)
	require.NoError(o.t, err)
	o.machine = m
}

func (o *one) host() *v1alpha1.Host        { return o.Objects.Get("host-00") }
func (o *one) status() v1alpha1.HostStatus { return o.host().Status }
func (o *one) advance(d time.Duration)     { o.Advance(o.t, d) }
func (o *one) state() v1alpha1.HostState   { return o.status().State }

func (o *one) claimIs(s host.ClaimSight) { o.Claims.Set(o.machine.ClaimUID, s) }

func (o *one) giveBack() {
	o.t.Helper()
	require.NoError(o.t, o.Provider.Delete(o.t.Context(), o.machine, gatetest.Judge(gate.Delete, o.machine, o.Now())))
}

// serve brings the host to Ready.
func (o *one) serve() {
	o.t.Helper()
	o.advance(time.Minute)
	o.claimIs(host.ClaimSight{State: v1alpha1.ClaimReady})
	o.advance(2 * time.Minute)
	require.Equal(o.t, v1alpha1.HostReady, o.state())
}

func TestAHostServesAClaimAndIsFreeAgain(t *testing.T) {
	o := oneHost(t, nil)
	require.Empty(t, o.lamp.Calls(), "the intent comes before the power")
	o.advance(time.Second)
	require.True(t, o.status().SwitchedOn)
	require.Equal(t, v1alpha1.HostPoweringOn, o.state())
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostJoining, o.state())
	o.serve()
	o.claimIs(host.ClaimSight{State: v1alpha1.ClaimDraining})
	o.advance(2 * time.Minute)
	require.Equal(t, v1alpha1.HostDraining, o.state())
	o.giveBack()
	require.Equal(t, v1alpha1.HostPoweringOff, o.state())
	o.advance(time.Minute)
	st := o.status()
	require.Equal(t, v1alpha1.HostOff, st.State)
	require.Nil(t, st.Claim)
	require.Equal(t, "std-000", st.Released.Name)
	require.EqualValues(t, 1, st.Wear.PowerCycles)
	require.NotNil(t, st.Wear.LastOff)
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls())
	require.Equal(t, []string{"host-00 PoweredOn", "host-00 Released"}, o.Events())
}

func TestAcceptedIsNotDone(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Lies = true })
	o.advance(2 * time.Minute)
	require.Equal(t, v1alpha1.HostPoweringOn, o.state())
	o.advance(3 * time.Minute)
	require.Equal(t, v1alpha1.HostError, o.state())
	require.Equal(t, host.FaultNoEffect, o.status().Fault)
	require.Equal(t, []host.Call{host.CallOn, host.CallOn, host.CallOn}, o.lamp.Calls(), "bounded")
	m, err := o.Provider.Get(t.Context(), o.machine)
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, m.State)
	require.Contains(t, m.Message, "NoEffect")
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostQuarantined, o.state())
	require.Nil(t, o.status().Claim)
	_, err = o.Provider.Create(t.Context(), ask())
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	o.advance(10 * time.Minute)
	require.Equal(t, v1alpha1.HostOff, o.state())
	require.EqualValues(t, 1, o.status().Strikes)
}

func TestQuarantinesGrowAndTheLastOneIsForTheOperatorToEnd(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Lies = true })
	var lasted []time.Duration
	for n := range 4 {
		if n > 0 {
			o.claim(fmt.Sprintf("std-%03d", n))
		}
		o.advance(10 * time.Minute)
		o.giveBack()
		o.advance(10 * time.Second)
		q := o.status().Quarantine
		require.NotNil(t, q)
		if q.Until != nil {
			lasted = append(lasted, q.Until.Sub(q.Since.Time))
			o.advance(q.Until.Sub(o.Now()) + time.Second)
		}
	}
	require.Equal(t, []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute}, lasted)
	o.advance(100 * 24 * time.Hour)
	require.Equal(t, v1alpha1.HostQuarantined, o.state())

	h := o.host()
	h.Annotations = map[string]string{v1alpha1.ReturnHostAnnotation: "new power supply"}
	o.Objects.Put(h)
	o.advance(time.Second)
	require.Equal(t, v1alpha1.HostOff, o.state())
	require.Zero(t, o.status().Strikes)

	o.claim("std-009")
	o.advance(10 * time.Minute)
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostQuarantined, o.state(), "the same annotation counts once")
}

func TestAHostThatServedLosesItsStrikes(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Lies = true })
	o.advance(10 * time.Minute)
	o.giveBack()
	o.advance(20 * time.Minute)
	require.EqualValues(t, 1, o.status().Strikes)
	o.lamp.Lies = false
	o.claim("std-001")
	o.serve()
	require.Zero(t, o.status().Strikes)
}

func TestAHostWhoseNodeNeverCameIsKeptOut(t *testing.T) {
	o := oneHost(t, nil)
	o.advance(15 * time.Minute)
	require.Equal(t, v1alpha1.HostJoining, o.state())
	o.claimIs(host.ClaimSight{State: v1alpha1.ClaimReleasing, TimedOut: true})
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostQuarantined, o.state())
	require.Equal(t, host.FaultNeverJoined, o.status().Quarantine.Reason)
	require.Equal(t, []host.Call{host.CallOn, host.CallOff}, o.lamp.Calls(), "nothing runs there that could shut down")
}

func TestSomebodyElsesPowerIsLeftAlone(t *testing.T) {
	o := oneHost(t, nil)
	o.lamp.Set(true)
	o.advance(time.Hour)
	require.Equal(t, host.FaultFoundOn, o.status().Fault)
	o.giveBack()
	o.advance(time.Minute)
	require.Nil(t, o.status().Claim)
	require.Equal(t, v1alpha1.HostQuarantined, o.state())
	require.Empty(t, o.lamp.Calls())
	require.True(t, o.lamp.IsOn())
	o.advance(time.Hour)
	_, err := o.Provider.Create(t.Context(), ask())
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	require.ErrorContains(t, err, "on, but not by Muster")
}

func TestAReleaseBeforeThePowerCostsNone(t *testing.T) {
	o := oneHost(t, nil)
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, v1alpha1.HostOff, o.state())
	require.Empty(t, o.lamp.Calls())
}

func TestShutdownIsFollowedByPowerOffAfterItsDeadline(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf = true })
	o.serve()
	o.giveBack()
	o.advance(4 * time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls())
	o.advance(2 * time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOff}, o.lamp.Calls())
	require.Equal(t, v1alpha1.HostOff, o.state())
}

func TestWithoutGracefulShutdownThePowerIsTakenAtOnce(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.NoShutdown = true })
	o.serve()
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallOff}, o.lamp.Calls())
	require.Equal(t, v1alpha1.HostOff, o.state())
}

func TestAHostThatStaysOnIsNeverCalledGone(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf, l.Stuck = true, true })
	o.serve()
	o.giveBack()
	o.advance(24 * time.Hour)
	require.Equal(t, v1alpha1.HostPoweringOff, o.state())
	m, err := o.Provider.Get(t.Context(), o.machine)
	require.NoError(t, err)
	require.Equal(t, provider.StateDeleting, m.State)
	require.Contains(t, o.Events(), "host-00 StaysOn")
	require.Less(t, len(o.lamp.Calls()), 700, "it is not hammered")
	o.lamp.Set(false)
	o.advance(10 * time.Minute)
	require.Equal(t, v1alpha1.HostOff, o.state())
}

func TestABusyBMCIsAskedAgainAndItsAnswerIsNoTry(t *testing.T) {
	o := oneHost(t, nil)
	busy := fmt.Errorf("503: %w", provider.ErrBusy)
	o.lamp.Fail(busy, nil, busy, busy)
	o.advance(2 * time.Minute)
	require.Equal(t, v1alpha1.HostJoining, o.state())
}

func TestABMCThatDoesNotAnswerIsGivenUpAtTheDeadline(t *testing.T) {
	o := oneHost(t, nil)
	o.lamp.Fail(nil)
	for range 200 {
		o.lamp.Fail(fmt.Errorf("connection refused: %w", provider.ErrUnknown))
	}
	o.advance(9 * time.Minute)
	require.Equal(t, v1alpha1.HostPoweringOn, o.state())
	o.advance(2 * time.Minute)
	require.Equal(t, host.FaultUnreachable, o.status().Fault)
	require.Contains(t, o.status().Message, "connection refused")
}

// Nothing was asked of the host yet, so its claim need not wait for it.
func TestABMCThatNeverAnsweredItsClaimIsGivenUpSoon(t *testing.T) {
	o := oneHost(t, nil)
	for range 200 {
		o.lamp.Fail(fmt.Errorf("no route to host: %w", provider.ErrUnknown))
	}
	o.advance(119 * time.Second)
	require.Equal(t, v1alpha1.HostPoweringOn, o.state())
	o.advance(2 * time.Second)
	require.Equal(t, host.FaultUnreachable, o.status().Fault)
	require.Empty(t, o.lamp.Calls())
}

func TestWrongCredentialsAreNotTriedUntilTheAccountIsLocked(t *testing.T) {
	o := oneHost(t, nil)
	o.lamp.Fail(fmt.Errorf("401: %w", provider.ErrMisconfigured))
	o.advance(time.Minute)
	require.Equal(t, host.FaultRefused, o.status().Fault)
	require.Empty(t, o.lamp.Calls())
}

func TestAHostThatGoesOffByItselfIsToldToItsClaim(t *testing.T) {
	o := oneHost(t, nil)
	o.serve()
	o.lamp.Set(false)
	o.advance(2 * time.Minute)
	m, err := o.Provider.Get(t.Context(), o.machine)
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, m.State)
	require.Equal(t, host.FaultWentOff, o.status().Fault)
}

func TestAnIdleHostThatDoesNotAnswerIsNotChosen(t *testing.T) {
	rack, lamps := rackOf(t, 1)
	for range 10 {
		lamps["host-00"].Fail(provider.ErrUnknown)
	}
	rack.Advance(t, 10*time.Minute)
	_, err := rack.Provider.Create(t.Context(), ask())
	require.ErrorContains(t, err, "1 not answering")
}

func TestTwoHostsOfOneClaimBecomeOne(t *testing.T) {
	rack, lamps := rackOf(t, 2)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	twin := rack.Objects.Get("host-01") // as a Muster that no longer leads could have written it
	first := rack.Objects.Get(string(m.ID))
	twin.Status = *first.Status.DeepCopy()
	twin.Status.Claim.At.Time = twin.Status.Claim.At.Add(time.Second)
	rack.Objects.Put(twin)
	rack.Advance(t, time.Minute)
	require.Nil(t, rack.Objects.Get("host-01").Status.Claim)
	require.Empty(t, lamps["host-01"].Calls(), "it was never powered on")
	require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get(string(m.ID)).Status.State)
}

func TestACrashBetweenIntentAndDeedLosesNothing(t *testing.T) {
	for n := range 12 {
		t.Run(fmt.Sprintf("after %d writes", n), func(t *testing.T) {
			rack, lamps := rackOf(t, 2)
			m, err := rack.Provider.Create(t.Context(), ask())
			require.NoError(t, err)
			var left atomic.Int64
			left.Store(int64(n))
			rack.Keeper.Leading = func() bool { return left.Add(-1) >= 0 }
			rack.Advance(t, time.Minute)
			after := hosttest.NewRack(rack.Keeper.Switches)
			after.Clock, after.Objects = rack.Clock, rack.Objects
			after.Keeper.Objects, after.Keeper.Now = rack.Objects, rack.Now
			after.Advance(t, 5*time.Minute)
			require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get(string(m.ID)).Status.State)
			require.Equal(t, 1, hosttestOn(lamps))
		})
	}
}

func hosttestOn(lamps hosttest.Lamps) (n int) {
	for _, l := range lamps {
		if l.IsOn() {
			n++
		}
	}
	return n
}

func TestAWriteWhoseAnswerIsLostIsAdopted(t *testing.T) {
	rack, _ := rackOf(t, 3)
	rack.Objects.Break(errors.New("connection reset"), true)
	_, err := rack.Provider.Create(t.Context(), ask())
	require.ErrorIs(t, err, provider.ErrUnknown)
	m, err := rack.Provider.Create(t.Context(), ask())
	require.NoError(t, err)
	list, err := rack.Provider.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []provider.Machine{m}, list)
}

func TestAnUnlistedStateIsAnError(t *testing.T) {
	h := made(1, in("Levitating"))
	r := host.Step(h, host.Observed{}, host.DefaultRules(), hosttest.Epoch)
	require.ErrorIs(t, r.Err, host.ErrState)
	require.Equal(t, h, r.Host)
	require.Empty(t, r.Call)
}

// The rules of a Provider change while a host is being waited for: they hold from then on.
func TestRulesMayChangeUnderWay(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.Deaf = true })
	o.serve()
	o.giveBack()
	o.advance(time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown}, o.lamp.Calls(), "five minutes are given")
	r, err := host.RulesOf(&v1alpha1.HostRules{ShutdownTimeout: &metav1.Duration{Duration: 30 * time.Second}})
	require.NoError(t, err)
	o.Keeper.SetRules(r)
	o.advance(time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallShutdown, host.CallOff}, o.lamp.Calls())
	require.Equal(t, v1alpha1.HostOff, o.state())
}

func TestEachRuleIsAField(t *testing.T) {
	d := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	got, err := host.RulesOf(&v1alpha1.HostRules{Settle: d(11), AnswerTimeout: d(12), OnRetry: d(13), OnAttempts: 14, OnTimeout: d(15),
		ShutdownTimeout: d(16), OffRetry: d(17), WatchEvery: d(18), IdleEvery: d(19),
		Quarantine: v1alpha1.QuarantineRules{CoolDown: d(20), MaxCoolDown: d(21), MaxStrikes: 22}})
	require.NoError(t, err)
	require.Equal(t, host.Rules{Hold: 11 * time.Second, Answer: 12 * time.Second, OnRetry: 13 * time.Second, OnTries: 14,
		OnDeadline: 15 * time.Second, Shutdown: 16 * time.Second, OffRetry: 17 * time.Second, Watch: 18 * time.Second, Idle: 19 * time.Second,
		CoolDown: 20 * time.Second, CoolDownMost: 21 * time.Second, MaxStrikes: 22,
		PollFirst: host.DefaultRules().PollFirst, PollMost: host.DefaultRules().PollMost}, got)
	for want, spec := range map[string]v1alpha1.HostRules{
		"spec.hosts.settle is 0s":          {Settle: d(0)},
		"spec.hosts.onRetry is 20m0s":      {OnRetry: d(1200)},
		"spec.hosts.answerTimeout is 15m0": {AnswerTimeout: d(900)},
		"coolDown is 48h0m0s":              {Quarantine: v1alpha1.QuarantineRules{CoolDown: d(172800)}},
	} {
		_, err = host.RulesOf(&spec)
		require.ErrorContains(t, err, want)
	}
}

// pxe makes the host boot from the network.
func (o *one) pxe(device v1alpha1.BootDevice) {
	h := o.host()
	h.Spec.Power.Boot = device
	o.Objects.Put(h)
}

func TestABootDeviceThatStaysIsToldToTheOperator(t *testing.T) {
	o := oneHost(t, func(l *hosttest.Lamp) { l.BootStays = true })
	o.pxe(v1alpha1.BootPXE)
	o.serve()
	o.advance(10 * time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallClear, host.CallClear, host.CallClear}, o.lamp.Calls(), "bounded")
	require.Contains(t, o.Events(), "host-00 BootDeviceStays")
	require.Equal(t, v1alpha1.HostReady, o.state(), "it serves all the same")
}

// The node never came, and the operator took the boot device out of the Host: the next claim does not boot from it.
func TestABootDeviceOfAnEarlierClaimIsClearedBeforeTheNextOne(t *testing.T) {
	o := oneHost(t, nil)
	o.pxe(v1alpha1.BootPXE)
	o.advance(time.Minute)
	o.giveBack()
	o.advance(20 * time.Minute)
	require.Equal(t, v1alpha1.BootPXE, o.lamp.Boot())
	o.pxe("")
	o.claim("std-001")
	o.advance(time.Minute)
	require.Equal(t, []host.Call{host.CallOn, host.CallOff, host.CallClear, host.CallOn}, o.lamp.Calls())
	require.Empty(t, o.lamp.Boot())
}
