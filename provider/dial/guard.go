package dial

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// ErrForbidden means that an endpoint names an address that no backend has.
var ErrForbidden = errors.New("address is not allowed")

// metadata are services of clouds that hand out credentials and are not link-local.
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("192.0.0.192")}

// Allowed says whether a connection may go to an address: not to link-local ones, where clouds keep their metadata, not
// to groups, and not to nowhere. It is asked for the address that a name turned out to be.
func Allowed(addr netip.Addr) error {
	addr = addr.Unmap().WithZone("")
	bad := !addr.IsValid() || addr.IsUnspecified() || addr.IsLinkLocalUnicast() || addr.IsMulticast()
	for _, m := range metadata {
		bad = bad || addr == m
	}
	if bad {
		return fmt.Errorf("%s: %w", addr, ErrForbidden)
	}
	return nil
}

// Dialer connects to allowed addresses only.
func Dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("%s: %w", address, ErrForbidden)
		}
		return Allowed(at.Addr())
	}}
}

// sessions of TLS that are remembered for each backend, so that it need not prove itself for every connection.
const sessions = 4

// Transport is a guarded connection to one backend. Proxies from the environment are not used.
func Transport(spec *v1alpha1.TLS) (*http.Transport, error) {
	config, err := TLSConfig(spec)
	if err != nil {
		return nil, err
	}
	config.ClientSessionCache = tls.NewLRUClientSessionCache(sessions) // a full handshake costs a BMC a second and more
	return &http.Transport{
		DialContext: Dialer(10 * time.Second).DialContext, TLSClientConfig: config, TLSHandshakeTimeout: 10 * time.Second,
		ResponseHeaderTimeout: 60 * time.Second, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 8, MaxConnsPerHost: 16,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}, nil
}

// Client follows no redirect and ends every call, body included, at the timeout.
func Client(transport http.RoundTripper, timeout time.Duration) *http.Client {
	return &http.Client{Transport: transport, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
