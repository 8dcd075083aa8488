package redfish_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/providertest"
)

const canary = "canary-pa55word"

// bench is one BMC behind TLS, and its switch.
type bench struct {
	*redfishsim.BMC
	host.Switch
	t     *testing.T
	clock *hosttest.Clock
	bmc   *redfish.BMC
	wire  *providertest.Wire
	host  *v1alpha1.Host // claimed
	keys  map[string]string
}

func newBench(t *testing.T, p redfishsim.Personality) *bench {
	t.Helper()
	clock := &hosttest.Clock{}
	b := &bench{t: t, clock: clock, keys: map[string]string{"username": "root", "password": canary},
		BMC: &redfishsim.BMC{Personality: p, UUID: hosttest.UUID(1), Username: "root", Password: canary, Now: clock.Now}}
	b.bmc, b.wire = connect(t, b.BMC, b.keys, clock, "")
	b.host = claimed(1)
	b.Switch = redfish.Switch{BMC: b.bmc, UUID: hosttest.UUID(1), Bound: host.Bind(b.host, clock.Now)}
	return b
}

// claimed is a host that a claim has.
func claimed(n int) *v1alpha1.Host {
	h := hosttest.Host(n, v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://bmc.example"})
	h.Status.Claim = &v1alpha1.HostClaim{Name: "std-000", UID: "uid", Attempt: 1}
	return h
}

// permit permits to switch off whatever is met.
func (b *bench) permit() host.Permit { return hosttest.Permits(b.host, b.clock.Now) }

// connect serves a BMC over TLS, pins its certificate, and returns a client with a wire of its own.
func connect(t *testing.T, sim *redfishsim.BMC, keys map[string]string, clock *hosttest.Clock, auth v1alpha1.Auth) (*redfish.BMC, *providertest.Wire) {
	wire := &providertest.Wire{Base: &hosttest.Exchange{}}
	return connectBy(t, wire, sim, keys, clock, auth), wire
}

// connectBy has the BMC be one of those behind a wire.
func connectBy(t *testing.T, wire *providertest.Wire, sim *redfishsim.BMC, keys map[string]string, clock *hosttest.Clock, auth v1alpha1.Auth) *redfish.BMC {
	server := providertest.Certified(httptest.NewUnstartedServer(sim))
	server.StartTLS()
	t.Cleanup(server.Close)
	transport, err := dial.Transport(&v1alpha1.TLS{Fingerprint: dial.Fingerprint(server.Certificate())})
	require.NoError(t, err)
	t.Cleanup(transport.CloseIdleConnections)
	return clientOf(t, wire, server.URL, transport, keys, clock, auth)
}

// clientOf is a client of the BMC that answers at this URL.
func clientOf(t *testing.T, wire *providertest.Wire, url string, by http.RoundTripper, keys map[string]string, clock *hosttest.Clock, auth v1alpha1.Auth) *redfish.BMC {
	wire.Base.(*hosttest.Exchange).Connect(url, by)
	read := func(context.Context) (map[string][]byte, error) {
		out := map[string][]byte{}
		for k, v := range keys {
			out[k] = []byte(v)
		}
		return out, nil
	}
	bmc := redfish.New(redfish.Config{Endpoint: url, Auth: auth, Transport: wire,
		Credentials: &dial.Credentials{Read: read, Now: clock.Now}})
	t.Cleanup(func() { bmc.Close(context.Background()) })
	return bmc
}

func (b *bench) pass(d time.Duration) { b.clock.Set(b.clock.Now().Add(d)) }

func (b *bench) reads(want host.Power) {
	b.t.Helper()
	r, err := b.Read(b.t.Context())
	require.NoError(b.t, err)
	require.Equal(b.t, want, r.Power)
}

func TestEveryPersonalityIsSwitchedOnAndOff(t *testing.T) {
	for name, p := range redfishsim.All() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, p)
			b.reads(host.Off)
			require.NoError(t, b.On(t.Context(), v1alpha1.BootPXE))
			require.Contains(t, b.Boot(), "Pxe/")
			b.pass(time.Minute)
			b.reads(host.On)
			require.NoError(t, b.On(t.Context(), ""), "on already is no error")
			require.NoError(t, b.Off(t.Context(), b.permit()))
			b.pass(time.Minute)
			b.reads(host.Off)
			require.NoError(t, b.Off(t.Context(), b.permit()), "off already is no error")
			require.NoError(t, b.Shutdown(t.Context(), b.permit()))
			require.Equal(t, []string{"On", "ForceOff"}, b.Taken())
			b.bmc.Close(t.Context())
			require.Zero(t, b.Sessions(), "logged out")
		})
	}
}

func TestTheBootDeviceIsSetInWhateverWayTheBMCTakes(t *testing.T) {
	for name, p := range redfishsim.All() {
		for device, want := range map[v1alpha1.BootDevice]string{v1alpha1.BootPXE: "Pxe", v1alpha1.BootDisk: "Hdd", v1alpha1.BootUEFIHTTP: "UefiHttp"} {
			t.Run(name+" "+want, func(t *testing.T) {
				b := newBench(t, p)
				require.NoError(t, b.On(t.Context(), device))
				require.True(t, strings.HasPrefix(b.Boot(), want+"/"), b.Boot())
				require.Equal(t, []string{"On"}, b.Taken())
			})
		}
	}
}

func TestAHostIsNotPoweredOnFromAnotherDevice(t *testing.T) {
	p := redfishsim.Quanta()
	p.Boots = []string{"Hdd"}
	b := newBench(t, p)
	require.ErrorIs(t, b.On(t.Context(), v1alpha1.BootPXE), provider.ErrRefused)
	require.Empty(t, b.Taken())
}

func TestResetTypesAreChosenFromWhatTheBMCAllows(t *testing.T) {
	for name, c := range map[string]struct {
		resets []string
		do     func(*bench) error
		on     bool
		want   []string
		err    error
	}{
		"On":                                {[]string{"On", "ForceOn", "PushPowerButton"}, on, false, []string{"On"}, nil},
		"ForceOn where there is no On":      {[]string{"ForceOn", "PushPowerButton"}, on, false, []string{"ForceOn"}, nil},
		"the button of a host that is off":  {[]string{"PushPowerButton"}, on, false, []string{"PushPowerButton"}, nil},
		"nothing that powers on":            {[]string{"ForceOff"}, on, false, nil, provider.ErrRefused},
		"graceful":                          {[]string{"GracefulShutdown", "PushPowerButton"}, down, true, []string{"GracefulShutdown"}, nil},
		"the button as graceful (iLO 2019)": {[]string{"On", "ForceOff", "PushPowerButton"}, down, true, []string{"PushPowerButton"}, nil},
		"no graceful way":                   {[]string{"On", "ForceOff"}, down, true, nil, host.ErrNoShutdown},
		"hard is never the button":          {[]string{"PushPowerButton", "PowerCycle"}, off, true, nil, provider.ErrRefused},
		"nothing told: the types all have":  {nil, off, true, nil, provider.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, redfishsim.Personality{Resets: c.resets, ActionInfo: c.resets == nil})
			b.Set(c.on)
			err := c.do(b)
			require.ErrorIs(t, err, c.err)
			require.Equal(t, c.want, b.Taken())
		})
	}
}

func on(b *bench) error   { return b.On(context.Background(), "") }
func off(b *bench) error  { return b.Off(context.Background(), b.permit()) }
func down(b *bench) error { return b.Shutdown(context.Background(), b.permit()) }

func TestTheButtonIsNotPressedWhileThePowerChanges(t *testing.T) {
	b := newBench(t, redfishsim.Personality{Resets: []string{"PushPowerButton", "On"}, Transitions: true, Delay: time.Minute})
	require.NoError(t, b.On(t.Context(), ""))
	require.ErrorIs(t, b.Shutdown(t.Context(), b.permit()), provider.ErrBusy, "it would be toggled")
	require.Equal(t, []string{"On"}, b.Taken())
}

func TestAcceptedIsNotDone(t *testing.T) {
	p := redfishsim.Quanta()
	p.Lies = true
	b := newBench(t, p)
	require.NoError(t, b.On(t.Context(), ""))
	b.pass(time.Hour)
	b.reads(host.Off)
}

func TestASecondResetTooSoonIsBusyAndNotRefused(t *testing.T) {
	for name, p := range map[string]redfishsim.Personality{"iLO": redfishsim.ILO5(), "iDRAC SYS518": redfishsim.IDRAC9()} {
		t.Run(name, func(t *testing.T) {
			p.Delay = time.Second
			b := newBench(t, p)
			require.NoError(t, b.On(t.Context(), ""))
			b.pass(2 * time.Second)
			require.ErrorIs(t, b.Off(t.Context(), b.permit()), provider.ErrBusy)
			b.pass(time.Minute)
			require.NoError(t, b.Off(t.Context(), b.permit()))
		})
	}
}

func TestTheSystemIsChosenByItsNameAndNotByItsPlace(t *testing.T) {
	p := redfishsim.Quanta()
	p.ExtraSystems = 3
	for _, name := range []string{"1", "SN-1", strings.ToUpper(hosttest.UUID(1)), identity.Swapped(hosttest.UUID(1))} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, p)
			s := redfish.Switch{BMC: b.bmc, System: name}
			for range 6 {
				r, err := s.Read(t.Context())
				require.NoError(t, err)
				require.Equal(t, host.Reading{Power: host.Off, SystemUUID: hosttest.UUID(1), Identity: v1alpha1.MachineIdentity{System: "1", SystemUUID: hosttest.UUID(1), Serial: "SN-1"}}, r)
			}
		})
	}
	t.Run("no name and no UUID", func(t *testing.T) {
		b := newBench(t, p)
		_, err := redfish.Switch{BMC: b.bmc}.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrMisconfigured)
		require.Contains(t, provider.HintOf(err), "power.system")
	})
	t.Run("a name that nothing has", func(t *testing.T) {
		b := newBench(t, p)
		_, err := redfish.Switch{BMC: b.bmc, System: "2"}.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrMisconfigured)
	})
}

func TestSessions(t *testing.T) {
	t.Run("one is used for many operations", func(t *testing.T) {
		b := newBench(t, redfishsim.IDRAC9())
		for range 20 {
			b.reads(host.Off)
		}
		require.Equal(t, 1, b.Sessions())
	})
	t.Run("that ended is opened again", func(t *testing.T) {
		b := newBench(t, redfishsim.IDRAC9())
		b.reads(host.Off)
		b.Expire()
		b.reads(host.Off)
		require.Equal(t, 1, b.Sessions())
	})
	t.Run("all taken is busy, with a hint", func(t *testing.T) {
		p := redfishsim.IDRAC9()
		p.MaxSessions = 1
		b := newBench(t, p)
		other, _ := connect(t, b.BMC, b.keys, b.clock, "")
		_, err := redfish.Switch{BMC: other}.Read(t.Context())
		require.NoError(t, err)
		_, err = b.Read(t.Context())
		require.ErrorIs(t, err, provider.ErrBusy)
		require.Contains(t, provider.HintOf(err), "Basic")
		other.Close(t.Context())
		b.reads(host.Off)
	})
	for name, change := range map[string]func(*redfishsim.Personality){
		"without a session service, basic serves": func(p *redfishsim.Personality) { p.NoSessions = true },
		"without a token, basic serves":           func(p *redfishsim.Personality) { p.NoToken = true },
		"without a Location, the body says where": func(p *redfishsim.Personality) { p.NoLocation = true },
	} {
		t.Run(name, func(t *testing.T) {
			p := redfishsim.Quanta()
			change(&p)
			b := newBench(t, p)
			b.reads(host.Off)
			require.NoError(t, b.On(t.Context(), ""))
			b.bmc.Close(t.Context())
			require.Zero(t, b.Sessions(), "nothing leaks")
		})
	}
	t.Run("basic opens none", func(t *testing.T) {
		b := newBench(t, redfishsim.IDRAC9())
		bmc, _ := connect(t, b.BMC, b.keys, b.clock, v1alpha1.AuthBasic)
		_, err := redfish.Switch{BMC: bmc}.Read(t.Context())
		require.NoError(t, err)
		require.Zero(t, b.Sessions())
	})
	t.Run("a cancelled operation leaves none behind", func(t *testing.T) {
		b := newBench(t, redfishsim.IDRAC9())
		ctx, cancel := context.WithCancel(t.Context())
		b.reads(host.Off)
		cancel()
		_, err := b.Read(ctx)
		require.Error(t, err)
		b.bmc.Close(ctx)
		b.bmc.Close(t.Context())
		require.Zero(t, b.Sessions())
	})
}

func TestCredentialsMayChangeUnderWay(t *testing.T) {
	b := newBench(t, redfishsim.IDRAC9())
	b.reads(host.Off)
	b.SetPassword("another-canary")
	b.keys["password"] = "another-canary"
	b.Expire()
	b.reads(host.Off)
}

func TestWrongCredentialsAreMisconfigured(t *testing.T) {
	b := newBench(t, redfishsim.IDRAC9())
	b.keys["password"] = "wrong-canary"
	_, err := b.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.NotContains(t, err.Error(), "canary")
}

func TestALinkToAnotherServerIsNotFollowed(t *testing.T) {
	p := redfishsim.Quanta()
	p.ForeignLinks = true
	b := newBench(t, p)
	require.ErrorIs(t, b.On(t.Context(), ""), provider.ErrRefused)
	require.Empty(t, b.Taken())
}

func TestAnotherCertificateIsMisconfigured(t *testing.T) {
	sim := &redfishsim.BMC{Personality: redfishsim.Quanta(), Username: "root", Password: canary, Now: (&hosttest.Clock{}).Now}
	server := httptest.NewTLSServer(sim)
	defer server.Close()
	transport, err := dial.Transport(nil)
	require.NoError(t, err)
	bmc := redfish.New(redfish.Config{Endpoint: server.URL, Transport: transport, Credentials: &dial.Credentials{
		Read: dial.Static(map[string]string{"username": "root", "password": canary}), Now: (&hosttest.Clock{}).Now}})
	_, err = redfish.Switch{BMC: bmc}.Read(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.Contains(t, provider.HintOf(err), "fingerprint")
	require.Empty(t, sim.Requests(), "no credentials were sent")
}

// Whatever happens to any request of an operation: no error says something certain that is not so, no secret shows, and
// afterwards the BMC can be switched as before.
func TestEveryFaultAtEveryRequest(t *testing.T) {
	for _, fault := range providertest.Faults {
		for nth := range 9 {
			t.Run(fmt.Sprintf("%s %d", fault, nth), func(t *testing.T) {
				b := newBench(t, redfishsim.Quanta())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				b.wire.Break(fault, nth, cancel)
				if err := b.On(ctx, ""); err != nil {
					require.ErrorIs(t, err, provider.ErrUnknown)
					require.NotContains(t, err.Error(), canary)
				}
				b.wire.Mend()
				require.NoError(t, b.On(t.Context(), ""))
				b.pass(time.Minute)
				b.reads(host.On)
			})
		}
	}
}

func TestOneOperationAtATime(t *testing.T) {
	b := newBench(t, redfishsim.Quanta())
	done := make(chan error, 10)
	for range 10 {
		go func() { _, err := b.Read(context.Background()); done <- err }()
	}
	for range 10 {
		require.NoError(t, <-done)
	}
	require.Equal(t, 1, b.Sessions(), "ten callers, one session")
}

func TestAProbeTellsWhatABMCHasAndAllows(t *testing.T) {
	for name, p := range redfishsim.All() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, p)
			got, err := b.bmc.Probe(t.Context())
			require.NoError(t, err)
			require.Equal(t, []redfish.System{{
				ID: "1", UUID: hosttest.UUID(1), SerialNumber: "SN-1", Manufacturer: p.Vendor, Model: p.Model, Power: host.Off, CPUs: 64,
				MemoryGiB: 256, MACs: []string{"52:54:00:00:00:01", "52:54:00:00:00:02"}, GPUs: []string{"NVIDIA A100"},
				Resets: p.Resets, Boots: p.Boots,
			}}, got.Systems)
			require.Empty(t, b.Taken())
		})
	}
}
