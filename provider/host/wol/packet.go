// Package wol wakes hosts that have no BMC. A magic packet has no acknowledgement and switches on only: that a host is up
// is known from its Node, and it is switched off by a Pod on that Node.
package wol

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Packet is the magic packet of a network card: six times 0xff, sixteen times its MAC, and the SecureOn password where the
// card wants one.
func Packet(mac, secureOn string) ([]byte, error) {
	hardware, err := net.ParseMAC(mac)
	if err != nil || len(hardware) != 6 {
		return nil, fmt.Errorf("mac %q has not six bytes", mac)
	}
	packet := make([]byte, 0, 108)
	for range 6 {
		packet = append(packet, 0xff)
	}
	for range 16 {
		packet = append(packet, hardware...)
	}
	if secureOn == "" {
		return packet, nil
	}
	password, err := net.ParseMAC(secureOn)
	if err != nil || len(password) != 6 {
		return nil, errors.New("secureOn is not six bytes, written as a MAC is")
	}
	return append(packet, password...), nil
}

// defaultPort is discard, where nobody answers.
const defaultPort = 9

// Target is where magic packets go: the address given, or everybody on the network of the interface, or of this machine.
func Target(p v1alpha1.Power, networks []netip.Prefix) (netip.AddrPort, error) {
	if p.Broadcast != "" {
		if at, err := netip.ParseAddrPort(p.Broadcast); err == nil {
			return at, nil
		}
		addr, err := netip.ParseAddr(p.Broadcast)
		if err != nil {
			return netip.AddrPort{}, fmt.Errorf("power.broadcast %q is no address and no address:%d", p.Broadcast, defaultPort)
		}
		return netip.AddrPortFrom(addr, defaultPort), nil
	}
	if p.NetworkInterface == "" {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), defaultPort), nil
	}
	for _, network := range networks {
		if network.Addr().Is4() {
			return netip.AddrPortFrom(last(network), defaultPort), nil
		}
	}
	return netip.AddrPort{}, fmt.Errorf("interface %s has no IPv4 address", p.NetworkInterface)
}

// last is the broadcast address of an IPv4 network.
func last(network netip.Prefix) netip.Addr {
	b := network.Addr().As4()
	for bit := network.Bits(); bit < 32; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	return netip.AddrFrom4(b)
}

// networksOf are the networks of an interface of this machine.
func networksOf(name string) ([]netip.Prefix, error) {
	if name == "" {
		return nil, nil
	}
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("power.networkInterface %s: %w", strconv.Quote(name), err)
	}
	addrs, err := i.Addrs()
	if err != nil {
		return nil, fmt.Errorf("power.networkInterface %s: %w", strconv.Quote(name), err)
	}
	var out []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}
