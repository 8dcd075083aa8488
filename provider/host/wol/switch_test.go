package wol_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/wol"
	"github.com/muster-sh/muster/provider/providertest"
)

func TestPacket(t *testing.T) {
	p, err := wol.Packet("52:54:00:aa:bb:01", "")
	require.NoError(t, err)
	require.Len(t, p, 6+16*6)
	require.Equal(t, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0xaa, 0xbb, 1, 0x52}, p[:13])
	secure, err := wol.Packet("52:54:00:aa:bb:01", "01:02:03:04:05:06")
	require.NoError(t, err)
	require.Equal(t, append(p, 1, 2, 3, 4, 5, 6), secure)
	for _, bad := range []string{"", "52:54", "00:00:00:00:fe:80:00:00:00:00:00:00:02:00:5e:10:00:00:00:01"} {
		_, err = wol.Packet(bad, "")
		require.Error(t, err, bad)
	}
	_, err = wol.Packet("52:54:00:aa:bb:01", "canary")
	require.ErrorContains(t, err, "secureOn")
	require.NotContains(t, err.Error(), "canary")
}

func TestTarget(t *testing.T) {
	networks := []netip.Prefix{netip.MustParsePrefix("fe80::1/64"), netip.MustParsePrefix("10.1.2.3/20")}
	for name, c := range map[string]struct {
		power v1alpha1.Power
		want  string
	}{
		"everybody here":               {v1alpha1.Power{}, "255.255.255.255:9"},
		"the network of the interface": {v1alpha1.Power{NetworkInterface: "eth1"}, "10.1.15.255:9"},
		"the address given":            {v1alpha1.Power{Broadcast: "192.168.7.255", NetworkInterface: "eth1"}, "192.168.7.255:9"},
		"the address and port given":   {v1alpha1.Power{Broadcast: "192.168.7.255:7"}, "192.168.7.255:7"},
		"nonsense":                     {v1alpha1.Power{Broadcast: "lan"}, ""},
	} {
		at, err := wol.Target(c.power, networks)
		if c.want == "" {
			require.Error(t, err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, at.String(), name)
	}
}

// lan is a network of machines without BMCs: a listener for magic packets, and the Nodes that the machines register.
type lan struct {
	clock  *hosttest.Clock
	listen *net.UDPConn

	mu       sync.Mutex
	machines map[string]*machine
	off      []string
	turns    int
	keys     map[string]string // the Secret with the cards' password
}

type machine struct {
	mac  string
	key  string // the card's password
	on   bool
	join time.Time // when its Node is ready
	node bool      // registered once
	pod  bool      // bound to it
}

const bootTime = 2 * time.Minute

func newLAN(t *testing.T, clock *hosttest.Clock) *lan {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &lan{clock: clock, listen: conn, machines: map[string]*machine{}, keys: map[string]string{}}
}

// hear takes the packets that arrived; a machine wakes to its own MAC with its own password.
func (l *lan) hear() {
	buffer := make([]byte, 200)
	for {
		if raw, err := l.listen.SyscallConn(); err == nil {
			got := 0
			_ = raw.Read(func(fd uintptr) bool { got = receive(fd, buffer); return true })
			if got <= 0 {
				return
			}
			l.wake(buffer[:got])
		}
	}
}

func (l *lan) wake(packet []byte) {
	for _, m := range l.machines {
		if want, err := wol.Packet(m.mac, m.key); err == nil && string(want) == string(packet) && !m.on {
			m.on, m.join = true, l.clock.Now().Add(bootTime)
		}
	}
}

func (l *lan) Look(_ context.Context, h *v1alpha1.Host) (wol.Sight, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear()
	m := l.machines[h.Name]
	if m.on && m.pod && !l.clock.Now().Before(m.join) {
		m.on = false // its kubelet runs the Pod that is bound to it
	}
	if m.on && !l.clock.Now().Before(m.join) {
		m.node = true
		return wol.Sight{Node: h.Name, SystemUUID: h.Spec.SystemUUID, Ready: true}, nil
	}
	if m.node {
		return wol.Sight{Node: h.Name, SystemUUID: h.Spec.SystemUUID, Alive: m.on}, nil
	}
	return wol.Sight{}, nil
}

func (l *lan) PowerOff(_ context.Context, h *v1alpha1.Host, node string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.machines[h.Name].on, l.machines[h.Name].pod = false, true
	l.off = append(l.off, node)
	return nil
}

func (l *lan) Tidy(_ context.Context, h *v1alpha1.Host) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.machines[h.Name].pod = false
	return nil
}

func (l *lan) IsOn(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear()
	return l.machines[name].on
}

func (l *lan) SwitchOn(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.machines[name].on = true
}

func (l *lan) host(n int) *v1alpha1.Host {
	mac := net.HardwareAddr{0x52, 0x54, 0, 0, 1, byte(n)}.String()
	h := hosttest.Host(n, v1alpha1.Power{Interface: v1alpha1.PowerWoL, MAC: mac, Broadcast: l.listen.LocalAddr().String()})
	l.machines[h.Name] = &machine{mac: mac}
	return h
}

func rackOf(t *testing.T, hosts int) (*hosttest.Rack, *lan) {
	var l *lan
	var credentials *dial.Credentials
	var rack *hosttest.Rack
	rack = hosttest.NewRack(hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
		return wol.Switch{Host: h, Cluster: l, Credentials: credentials, Bound: host.Bind(h, rack.Now)}, nil
	}))
	l = newLAN(t, rack.Clock)
	credentials = &dial.Credentials{Now: rack.Now, Read: func(ctx context.Context) (map[string][]byte, error) { return dial.Static(l.keys)(ctx) }}
	for n := range hosts {
		rack.Objects.Put(l.host(n))
	}
	return rack, l
}

// rotate changes the password of every card, and the Secret.
func (l *lan) rotate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turns++
	l.keys[wol.KeySecureOn] = fmt.Sprintf("c0:ff:ee:00:00:%02x", l.turns)
	for _, m := range l.machines {
		m.key = l.keys[wol.KeySecureOn]
	}
}

func backend(t *testing.T, hosts int) (providertest.Backend, *hosttest.Rack) {
	rack, l := rackOf(t, hosts)
	l.rotate()
	b := hosttest.Backend(t, rack, l, func(name string) *v1alpha1.Host {
		h := l.host(99)
		h.Name, l.machines[name] = name, l.machines[h.Name]
		return h
	})
	b.CannotStop, b.Secrets, b.Rotate = true, []string{"c0:ff:ee:00:00:"}, l.rotate
	return b, rack
}

func TestTheProviderKeepsTheContractOverWakeOnLAN(t *testing.T) {
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

// A card does not say that it was given the wrong password: the new one is in use within a minute, and the packet is sent
// again until the node comes.
func TestANewSecureOnPasswordIsInUseWithinAMinute(t *testing.T) {
	rack, l := rackOf(t, 1)
	l.rotate()
	_, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	l.machines["host-00"].key = "c0:ff:ee:00:00:02" // before the Secret
	rack.Advance(t, time.Second)
	require.False(t, l.IsOn("host-00"))
	l.keys[wol.KeySecureOn] = "c0:ff:ee:00:00:02"
	rack.Advance(t, 61*time.Second)
	require.True(t, l.IsOn("host-00"))
}

func TestAHostIsUpOnlyWhenItsNodeIs(t *testing.T) {
	rack, l := rackOf(t, 1)
	m, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, bootTime-time.Second)
	require.True(t, l.IsOn("host-00"), "the packet arrived")
	m, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateCreating, m.State)
	rack.Advance(t, time.Minute)
	m, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateRunning, m.State)
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, 10*time.Minute)
	require.Equal(t, []string{"host-00"}, l.off, "through its node")
	require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State)
}

func TestAHostThatNobodySeesIsKeptOutForTheOperator(t *testing.T) {
	rack, l := rackOf(t, 1)
	l.machines["host-00"].mac = "52:54:00:00:00:ee" // the packets are for somebody else
	m, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, 11*time.Minute)
	m, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, m.State)
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, time.Hour)
	require.ErrorIs(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())), provider.ErrNotFound)
	q := rack.Objects.Get("host-00").Status.Quarantine
	require.NotNil(t, q)
	require.Nil(t, q.Until, "it may be on, and nobody can tell")
}

func TestSecureOnIsInThePacketAndInNoText(t *testing.T) {
	_, l := rackOf(t, 1)
	keys := map[string]string{wol.KeySecureOn: "01:02:03:04:05:06"}
	s := wol.Switch{Host: l.host(0), Cluster: l, Credentials: &dial.Credentials{Read: dial.Static(keys), Now: l.clock.Now}}
	require.NoError(t, s.On(t.Context(), ""))
	buffer := make([]byte, 200)
	n, err := l.listen.Read(buffer)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6}, buffer[n-6:n])
	require.ErrorIs(t, s.On(t.Context(), v1alpha1.BootPXE), provider.ErrRefused)
}

func TestMetadataAddressesAreNoBroadcast(t *testing.T) {
	_, l := rackOf(t, 1)
	h := l.host(0)
	h.Spec.Power.Broadcast = "169.254.169.254"
	require.ErrorIs(t, wol.Switch{Host: h, Cluster: l}.On(t.Context(), ""), provider.ErrMisconfigured)
}

// A Pod that is still bound to the node would switch it off as soon as its kubelet is back.
func TestAWokenHostIsNotSwitchedOffByWhatSwitchedItOffBefore(t *testing.T) {
	rack, l := rackOf(t, 1)
	l.machines["host-00"].node, l.machines["host-00"].pod = true, true
	_, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, 5*time.Minute)
	require.True(t, l.IsOn("host-00"))
	require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get("host-00").Status.State)
}

// Loopback has a broadcast address like every network; the packet leaves by the interface named.
func TestPacketsLeaveByTheInterfaceThatIsNamed(t *testing.T) {
	all, err := net.ListenUDP("udp4", &net.UDPAddr{})
	require.NoError(t, err)
	defer func() { _ = all.Close() }()
	_, l := rackOf(t, 1)
	h := l.host(0)
	h.Spec.Power.NetworkInterface = "lo"
	h.Spec.Power.Broadcast = fmt.Sprintf("127.255.255.255:%d", all.LocalAddr().(*net.UDPAddr).Port)
	require.NoError(t, wol.Switch{Host: h, Cluster: l}.On(t.Context(), ""))
	buffer := make([]byte, 200)
	n, from, err := all.ReadFromUDP(buffer)
	require.NoError(t, err)
	require.Equal(t, 102, n)
	require.Equal(t, "127.0.0.1", from.IP.String())
	h.Spec.Power.NetworkInterface = "muster-none"
	require.ErrorIs(t, wol.Switch{Host: h, Cluster: l}.On(t.Context(), ""), provider.ErrMisconfigured)
}
