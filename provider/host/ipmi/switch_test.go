package ipmi_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/ipmi"
	"github.com/muster-sh/muster/provider/host/ipmi/ipmisim"
	"github.com/muster-sh/muster/provider/providertest"
)

const canary = "canary-pa55w0rd"

func listen(t *testing.T, clock *hosttest.Clock, c ipmisim.Config) *ipmisim.BMC {
	t.Helper()
	c.Username, c.Password, c.Now = "admin", canary, clock.Now
	b, err := ipmisim.Listen(t.Context(), c)
	require.NoError(t, err)
	return b
}

func connect(b *ipmisim.BMC, clock *hosttest.Clock, password string, suites ...int32) ipmi.Switch {
	return bound(dialed(b, clock, password, suites...), clock)
}

// bound is a switch of a claimed host.
func bound(b *ipmi.BMC, clock *hosttest.Clock) ipmi.Switch {
	return ipmi.Switch{BMC: b, Bound: host.Bind(claimed(1), clock.Now), UUID: hosttest.UUID(1)}
}

func claimed(n int) *v1alpha1.Host {
	h := hosttest.Host(n, power)
	h.Status.Claim = &v1alpha1.HostClaim{Name: "std-000", UID: "uid", Attempt: 1}
	return h
}

// permit permits to switch off whatever is met.
func permit(clock *hosttest.Clock) host.Permit { return hosttest.Permits(claimed(1), clock.Now) }

// guid is the GUID of a host's board, as its firmware writes it.
func guid(n byte) [16]byte {
	return [16]byte{0x6d, 0x75, 0x73, 0x74, 0x65, 0x72, 0x40, 0x00, 0x80, 0, 0, 0, 0, 0, 0, n}
}

func dialed(b *ipmisim.BMC, clock *hosttest.Clock, password string, suites ...int32) *ipmi.BMC {
	return ipmi.New(ipmi.Config{Address: b.Address, Suites: suites, Credentials: &dial.Credentials{Now: clock.Now,
		Read: dial.Static(map[string]string{"username": "admin", "password": password})}})
}

func reads(t *testing.T, s host.Switch, want host.Power) {
	t.Helper()
	r, err := s.Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, r.Power)
}

func TestAHostIsSwitchedOverIPMI(t *testing.T) {
	clock := &hosttest.Clock{}
	b := listen(t, clock, ipmisim.Config{Delay: 10 * time.Second})
	s := connect(b, clock, canary)
	reads(t, s, host.Off)
	require.NoError(t, s.Off(t.Context(), permit(clock)), "off already is no error")
	require.NoError(t, s.On(t.Context(), v1alpha1.BootPXE))
	require.Equal(t, types.BootDeviceSelectorForcePXE, b.Boot())
	reads(t, s, host.Off)
	clock.Set(clock.Now().Add(time.Minute))
	reads(t, s, host.On)
	require.NoError(t, s.On(t.Context(), ""), "on already is no error")
	require.NoError(t, s.Shutdown(t.Context(), permit(clock)))
	clock.Set(clock.Now().Add(time.Minute))
	reads(t, s, host.Off)
	require.Equal(t, []string{"off", "on", "on", "shutdown"}, b.Ops())
}

func TestTheCipherSuitesArePinnedAndTriedInTheirOrder(t *testing.T) {
	clock := &hosttest.Clock{}
	for name, c := range map[string]struct {
		has  []types.CipherSuiteID
		uses []int32
		err  error
	}{
		"17 by default":             {[]types.CipherSuiteID{17}, nil, nil},
		"3 where there is no 17":    {[]types.CipherSuiteID{3}, nil, nil},
		"the one that is asked for": {[]types.CipherSuiteID{3, 17}, []int32{3}, nil},
		"none but those asked for":  {[]types.CipherSuiteID{3}, []int32{17}, provider.ErrMisconfigured},
	} {
		t.Run(name, func(t *testing.T) {
			b := listen(t, clock, ipmisim.Config{Suites: c.has})
			_, err := connect(b, clock, canary, c.uses...).Read(t.Context())
			require.ErrorIs(t, err, c.err)
		})
	}
}

func TestAWrongPasswordIsMisconfigured(t *testing.T) {
	clock := &hosttest.Clock{}
	b := listen(t, clock, ipmisim.Config{})
	_, err := connect(b, clock, "wrong-canary").Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.NotContains(t, err.Error(), "canary")
}

func TestAnUnknownUserIsMisconfigured(t *testing.T) {
	clock := &hosttest.Clock{}
	b := listen(t, clock, ipmisim.Config{})
	s := bound(ipmi.New(ipmi.Config{Address: b.Address, Credentials: &dial.Credentials{Now: clock.Now,
		Read: dial.Static(map[string]string{"username": "nobody", "password": canary})}}), clock)
	_, err := s.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
}

func TestMetadataAddressesAreNotReached(t *testing.T) {
	clock := &hosttest.Clock{}
	s := bound(ipmi.New(ipmi.Config{Address: "169.254.169.254", Credentials: &dial.Credentials{Now: clock.Now,
		Read: dial.Static(map[string]string{"username": "admin", "password": canary})}}), clock)
	_, err := s.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
}

func TestNobodyAtTheAddressIsUnknown(t *testing.T) {
	nobody, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	address := nobody.LocalAddr().String()
	require.NoError(t, nobody.Close())
	s := bound(ipmi.New(ipmi.Config{Address: address, Credentials: &dial.Credentials{Now: (&hosttest.Clock{}).Now,
		Read: dial.Static(map[string]string{"username": "admin", "password": canary})}}), &hosttest.Clock{})
	_, err = s.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
}

func TestABMCThatDoesNotAnswerIsSpared(t *testing.T) {
	clock, dials := &hosttest.Clock{}, 0
	s := bound(ipmi.New(ipmi.Config{Address: "bmc.example", Breaker: &dial.Breaker{Failures: 3, Cool: 30 * time.Second, Now: clock.Now},
		Credentials: &dial.Credentials{Now: clock.Now, Read: dial.Static(map[string]string{"username": "admin", "password": canary})},
		Dial:        func(string, string) (net.Conn, error) { dials++; return nil, context.DeadlineExceeded }}), clock)
	for range 3 {
		_, err := s.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrUnknown)
	}
	before := dials
	for range 50 {
		require.ErrorIs(t, s.Off(t.Context(), permit(clock)), provider.ErrBusy, "nothing was sent")
	}
	require.Equal(t, before, dials)
	clock.Set(clock.Now().Add(31 * time.Second))
	_, err := s.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.Greater(t, dials, before, "one tries")
}

// A BMC that turns the account down answers, and is no dead one.
func TestAWrongPasswordDoesNotOpenTheCircuit(t *testing.T) {
	clock := &hosttest.Clock{}
	b := listen(t, clock, ipmisim.Config{})
	s := bound(ipmi.New(ipmi.Config{Address: b.Address, Breaker: &dial.Breaker{Failures: 1, Cool: time.Hour, Now: clock.Now},
		Credentials: &dial.Credentials{Now: clock.Now, Read: dial.Static(map[string]string{"username": "admin", "password": "wrong"})}}), clock)
	for range 3 {
		_, err := s.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrMisconfigured)
	}
}

func TestAColdResetOfTheBMCIsWaitedFor(t *testing.T) {
	rack, room := rackOf(t, 1, ipmisim.Config{Delay: 10 * time.Second})
	_, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, 2*time.Second)
	room.sims["host-00"].ColdReset(20 * time.Second)
	rack.Advance(t, 2*time.Minute)
	require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get("host-00").Status.State)
	require.Equal(t, []string{"on"}, room.sims["host-00"].Ops())
}

// 6d757374-6572-4000-8000-000000000001 as the three habits of firmware put it on the wire.
func TestTheGUIDMayBeSpelledInThreeWays(t *testing.T) {
	clock, want := &hosttest.Clock{}, hosttest.UUID(1)
	for name, raw := range map[string][16]byte{
		"SMBIOS":     {0x74, 0x73, 0x75, 0x6d, 0x72, 0x65, 0x00, 0x40, 0x80, 0, 0, 0, 0, 0, 0, 1},
		"as written": {0x6d, 0x75, 0x73, 0x74, 0x65, 0x72, 0x40, 0x00, 0x80, 0, 0, 0, 0, 0, 0, 1},
		"IPMI":       {1, 0, 0, 0, 0, 0, 0, 0x80, 0x00, 0x40, 0x72, 0x65, 0x74, 0x73, 0x75, 0x6d},
	} {
		b := listen(t, clock, ipmisim.Config{GUID: raw})
		got, err := dialed(b, clock, canary).Probe(t.Context())
		require.NoError(t, err)
		require.Len(t, got.UUIDs, 3)
		require.Contains(t, got.UUIDs, want, name)
		require.Equal(t, host.Off, got.Power)
		r, err := connect(b, clock, canary).Read(t.Context())
		require.NoError(t, err)
		require.Empty(t, r.SystemUUID, "which of them it is, nobody knows")
		require.Equal(t, got.UUIDs, r.UUIDs)
	}
	require.Empty(t, ipmi.Spellings([16]byte{}))
}

// doctor compares in every byte order, and says when none fits: the address may be another host's.
func TestCheckComparesTheGUIDInEveryByteOrder(t *testing.T) {
	for n, want := range map[int]provider.Level{1: provider.LevelOK, 2: provider.LevelWarning} {
		rack, room := rackOf(t, 0, ipmisim.Config{})
		h := hosttest.Host(n, power)
		rack.Objects.Put(h)
		sim := listen(t, rack.Clock, ipmisim.Config{GUID: [16]byte{1, 0, 0, 0, 0, 0, 0, 0x80, 0x00, 0x40, 0x72, 0x65, 0x74, 0x73, 0x75, 0x6d}})
		room.sims[h.Name] = sim
		s := connect(sim, rack.Clock, canary)
		p := host.NewProvider(hosttest.ProviderName, rack.Objects, hosttest.SwitchFunc(func(context.Context, *v1alpha1.Host) (host.Switch, error) {
			return s, nil
		}), rack.Gate, rack.Now)
		findings := p.Check(t.Context())
		require.Len(t, findings, 1)
		require.Equal(t, want, findings[0].Level, findings[0].Message)
	}
}

func TestABootDeviceThatOutlivesItsBootIsCleared(t *testing.T) {
	clock := &hosttest.Clock{}
	b := listen(t, clock, ipmisim.Config{})
	s := connect(b, clock, canary)
	require.NoError(t, s.On(t.Context(), v1alpha1.BootPXE))
	require.NoError(t, s.ClearBoot(t.Context()))
	require.Equal(t, types.BootDeviceSelectorNoOverride, b.Boot())
	require.NoError(t, s.ClearBoot(t.Context()), "cleared already")
	stuck := listen(t, clock, ipmisim.Config{BootStays: true})
	stuck.SetBoot(types.BootDeviceSelectorForcePXE)
	require.ErrorIs(t, connect(stuck, clock, canary).ClearBoot(t.Context()), provider.ErrBusy)
}

// A BMC that takes a soft shutdown and stays on is powered off after the deadline.
func TestASoftShutdownWithoutEffectIsEscalated(t *testing.T) {
	rack, room := rackOf(t, 1, ipmisim.Config{Deaf: true})
	ask := provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"}
	m, err := rack.Provider.Create(t.Context(), ask)
	require.NoError(t, err)
	rack.Advance(t, time.Minute)
	rack.Claims.Set("uid", host.ClaimSight{State: v1alpha1.ClaimReleasing, Served: true})
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, 10*time.Minute)
	require.Equal(t, []string{"on", "shutdown", "off"}, room.sims["host-00"].Ops())
	require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State)
}

// The password changed at the BMC and in the Secret since it was read a second ago.
func TestCredentialsMayChangeUnderWay(t *testing.T) {
	clock := &hosttest.Clock{}
	b := listen(t, clock, ipmisim.Config{})
	secret := map[string]string{"username": "admin", "password": canary}
	reading := 0
	s := bound(ipmi.New(ipmi.Config{Address: b.Address, Credentials: &dial.Credentials{Now: clock.Now,
		Read: func(ctx context.Context) (map[string][]byte, error) { reading++; return dial.Static(secret)(ctx) }}}), clock)
	reads(t, s, host.Off)
	require.NoError(t, b.SetPassword("another-canary"))
	secret["password"] = "another-canary"
	reads(t, s, host.Off)
	require.Equal(t, 2, reading)
}

// room is a room of BMCs by host name.
type room struct {
	t     *testing.T
	sims  map[string]*ipmisim.BMC
	keys  map[string]string
	turns int // of the credentials
}

func (r *room) IsOn(name string) bool { return r.sims[name].IsOn() }
func (r *room) SwitchOn(name string)  { r.sims[name].Set(true) }

// rotate changes the password at every BMC and in the Secret.
func (r *room) rotate() {
	r.turns++
	r.keys["password"] = fmt.Sprintf("canary-%d", r.turns)
	for _, sim := range r.sims {
		require.NoError(r.t, sim.SetPassword(r.keys["password"]))
	}
}

var power = v1alpha1.Power{Interface: v1alpha1.PowerIPMI, Address: "bmc.example"}

func rackOf(t *testing.T, hosts int, c ipmisim.Config) (*hosttest.Rack, *room) {
	t.Helper()
	r := &room{t: t, sims: map[string]*ipmisim.BMC{}, keys: map[string]string{"username": "admin", "password": canary}}
	switches := map[string]*ipmi.BMC{}
	var rack *hosttest.Rack
	rack = hosttest.NewRack(hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
		sim := r.sims[h.Name]
		if sim == nil {
			return nil, provider.ErrMisconfigured
		}
		return ipmi.Switch{BMC: switches[h.Name], Bound: host.Bind(h, rack.Now), UUID: h.Spec.SystemUUID}, nil
	}))
	rack.Keeper.Rules.Idle, rack.Keeper.Rules.Watch = 4*time.Hour, 20*time.Minute
	for n := range hosts {
		h := hosttest.Host(n, power)
		c := c
		if !c.NoGUID {
			c.GUID = guid(byte(n)) //nolint:gosec // a few hosts
		}
		r.add(rack, switches, h, listen(t, rack.Clock, c))
		rack.Objects.Put(h)
	}
	if hosts == hosttest.SuiteHosts {
		r.add(rack, switches, &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: "somebody-elses"}}, listen(t, rack.Clock, ipmisim.Config{GUID: guid(99)}))
	}
	return rack, r
}

func (r *room) add(rack *hosttest.Rack, switches map[string]*ipmi.BMC, h *v1alpha1.Host, sim *ipmisim.BMC) {
	r.sims[h.Name] = sim
	switches[h.Name] = ipmi.New(ipmi.Config{Address: sim.Address, Timeout: 200 * time.Millisecond, Credentials: &dial.Credentials{Now: rack.Now,
		Read: func(ctx context.Context) (map[string][]byte, error) { return dial.Static(r.keys)(ctx) }}})
}

func backend(t *testing.T, hosts int) (providertest.Backend, *hosttest.Rack) {
	rack, room := rackOf(t, hosts, ipmisim.Config{Delay: 10 * time.Second})
	b := hosttest.Backend(t, rack, room, func(name string) *v1alpha1.Host {
		h := hosttest.Host(99, power)
		h.Name = name
		return h
	})
	b.Secrets, b.Rotate = []string{canary, "canary-1"}, room.rotate
	return b, rack
}

func TestTheProviderKeepsTheContractOverIPMI(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Backend {
		b, _ := backend(t, hosttest.SuiteHosts)
		return b
	})
}

func TestTheProviderKeepsTheContractOverABadWire(t *testing.T) {
	providertest.RunWire(t, func(t *testing.T) providertest.Backend {
		b, rack := backend(t, hosttest.WireHosts)
		b.Wire = &providertest.Wire{Base: &hosttest.Exchange{}}
		rack.OverTheWire(t, b.Wire)
		b.Provider = rack.Provider
		return b
	})
}
