package wol

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host"
)

// KeySecureOn is the key of the credentials' Secret with the SecureOn password.
const KeySecureOn = "secureOn"

// Sight is what the cluster says of a host.
type Sight struct {
	// Node is the name of its Node, empty when there is none; SystemUUID is what its kubelet reports.
	Node       string
	SystemUUID string
	// Ready is the Node's Ready condition.
	Ready bool
	// Alive says that its kubelet renewed its lease lately, or that something at its address answers or cannot be told not to.
	Alive bool
	// Unsure says that it is not known when the kubelet was last heard of.
	Unsure bool
}

// Cluster is what a host without a BMC is looked at and switched off through.
type Cluster interface {
	// Look returns what is known of the host's Node.
	Look(ctx context.Context, h *v1alpha1.Host) (Sight, error)
	// PowerOff has the Node switch itself off. It may be called again, and returns before the Node is off.
	PowerOff(ctx context.Context, h *v1alpha1.Host, node string) error
	// Tidy takes back whatever PowerOff left: what is left would switch the host off again when it wakes.
	Tidy(ctx context.Context, h *v1alpha1.Host) error
}

// Switch is one host without a BMC.
type Switch struct {
	Host        *v1alpha1.Host
	Cluster     Cluster
	Credentials *dial.Credentials // nil without SecureOn
	Bound       host.Bound
}

var _ host.Switch = Switch{}

// Read tells the power from the Node: ready or alive is on; not ready, its lease stale and silent is off; everything else
// nobody knows. What switched a host off is removed before it counts as off.
func (s Switch) Read(ctx context.Context) (host.Reading, error) {
	sight, err := s.look(ctx)
	if err != nil {
		return host.Reading{}, err
	}
	r := host.Reading{Power: host.Off, Identity: s.met(sight)}
	switch {
	case sight.Ready || sight.Alive:
		r.Power = host.On
	case sight.Node == "" || sight.Unsure:
		r.Power = host.Unknown
	default:
		err = s.tidy(ctx)
	}
	return r, err
}

// copies of a packet are sent: nobody says whether one arrived.
const copies = 3

// On sends magic packets.
func (s Switch) On(ctx context.Context, device v1alpha1.BootDevice) error {
	if device != "" {
		return fmt.Errorf("a magic packet chooses no boot device: %w", provider.ErrRefused)
	}
	packet, err := s.packet(ctx)
	if err != nil {
		return err
	}
	if err := s.tidy(ctx); err != nil {
		return err
	}
	networks, err := networksOf(s.Host.Spec.Power.NetworkInterface)
	if err != nil {
		return &provider.Error{Op: "wake " + s.Host.Name, Kind: provider.ErrMisconfigured, Err: err,
			Hint: "Muster has to run in the network of its node (hostNetwork) to send magic packets there"}
	}
	to, err := Target(s.Host.Spec.Power, networks)
	if err != nil {
		return &provider.Error{Op: "wake " + s.Host.Name, Kind: provider.ErrMisconfigured, Err: err}
	}
	return s.send(ctx, packet, to, networks)
}

func (s Switch) packet(ctx context.Context) ([]byte, error) {
	var secureOn dial.Secret
	if s.Credentials != nil {
		keys, err := s.Credentials.Get(ctx)
		if err != nil {
			return nil, &provider.Error{Op: "read credentials", Kind: provider.ErrMisconfigured, Err: err}
		}
		secureOn = keys[KeySecureOn]
	}
	packet, err := Packet(s.Host.Spec.Power.MAC, secureOn.Reveal())
	if err != nil {
		return nil, &provider.Error{Op: "wake " + s.Host.Name, Kind: provider.ErrMisconfigured, Err: err}
	}
	return packet, nil
}

// send leaves by the address of the interface, so that the packet takes that way.
func (s Switch) send(ctx context.Context, packet []byte, to netip.AddrPort, networks []netip.Prefix) error {
	if err := dial.Allowed(to.Addr()); err != nil {
		return &provider.Error{Op: "wake " + s.Host.Name, Kind: provider.ErrMisconfigured, Err: err}
	}
	dialer := net.Dialer{Control: bindTo(s.Host.Spec.Power.NetworkInterface)}
	for _, n := range networks {
		if n.Addr().Is4() {
			dialer.LocalAddr = net.UDPAddrFromAddrPort(netip.AddrPortFrom(n.Addr(), 0))
			break
		}
	}
	conn, err := dialer.DialContext(ctx, "udp4", to.String())
	if err != nil {
		return fmt.Errorf("wake %s by %s: %w: %w", s.Host.Name, to, provider.ErrUnknown, err)
	}
	defer func() { _ = conn.Close() }()
	for range copies {
		if _, err := conn.Write(packet); err != nil {
			return fmt.Errorf("wake %s by %s: %w: %w", s.Host.Name, to, provider.ErrUnknown, err)
		}
	}
	return nil
}

// ClearBoot has nothing to clear: a magic packet sets no device.
func (s Switch) ClearBoot(context.Context) error { return nil }

// Shutdown has the node switch itself off.
func (s Switch) Shutdown(ctx context.Context, permit host.Permit) error {
	return s.powerOff(ctx, permit)
}

// Off does the same again: there is no other way.
func (s Switch) Off(ctx context.Context, permit host.Permit) error { return s.powerOff(ctx, permit) }

// met is the machine as its Node tells it: the MAC is what packets are sent to, and nobody reads it back.
func (s Switch) met(sight Sight) v1alpha1.MachineIdentity {
	met := s.Bound.Met("", sight.SystemUUID, "")
	met.MAC = strings.ToLower(s.Host.Spec.Power.MAC)
	return met
}

func (s Switch) powerOff(ctx context.Context, permit host.Permit) error {
	sight, err := s.look(ctx)
	if err != nil {
		return err
	}
	if sight.Node == "" {
		return fmt.Errorf("host %s has no node to switch it off through: %w", s.Host.Name, provider.ErrUnknown)
	}
	if err := s.Bound.Spend(ctx, permit, s.met(sight)); err != nil {
		return err
	}
	return known("switch node "+sight.Node+" off", s.Cluster.PowerOff(ctx, s.Host, sight.Node))
}

func (s Switch) look(ctx context.Context) (Sight, error) {
	sight, err := s.Cluster.Look(ctx, s.Host)
	return sight, known("look at the node of host "+s.Host.Name, err)
}

func (s Switch) tidy(ctx context.Context) error {
	return known("tidy up after host "+s.Host.Name, s.Cluster.Tidy(ctx, s.Host))
}

// known gives an error a kind where it has none.
func known(op string, err error) error {
	var one *provider.Error
	if err == nil || errors.As(err, &one) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", op, provider.ErrUnknown, err)
}
