package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/ipmi"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/wol"
)

// hostSwitches makes the switches of hosts. Hosts that are systems of one BMC share its session and its turn.
type hostSwitches struct {
	registry *registry
	cluster  func(provider string) wol.Cluster
	limit    *rate.Limiter // of the calls to all BMCs together
	warn     func(h *v1alpha1.Host, message string)

	mu      sync.Mutex
	redfish map[string]*redfish.BMC
	ipmi    map[string]*ipmi.BMC
}

// Switch returns the switch of a host as its spec says now.
func (s *hostSwitches) Switch(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
	inner, err := s.of(h)
	if err != nil {
		return nil, err
	}
	return host.Paced{Switch: inner, Limit: s.limit}, nil
}

const (
	// breakAfter calls in a row without an answer a BMC is left alone for breakFor.
	breakAfter = 3
	breakFor   = 30 * time.Second
)

func (s *hostSwitches) breaker(next http.RoundTripper) *dial.Breaker {
	return &dial.Breaker{Next: next, Failures: breakAfter, Cool: breakFor, Now: s.registry.now}
}

func (s *hostSwitches) of(h *v1alpha1.Host) (host.Switch, error) {
	p, bound := h.Spec.Power, host.Bind(h, s.registry.now)
	switch p.Interface {
	case v1alpha1.PowerRedfish:
		bmc, err := s.bmc(h)
		if err != nil {
			return nil, &provider.Error{Op: "host " + h.Name, Kind: provider.ErrMisconfigured, Err: err}
		}
		return redfish.Switch{BMC: bmc, System: p.System, UUID: h.Spec.SystemUUID, Bound: bound}, nil
	case v1alpha1.PowerIPMI:
		return ipmi.Switch{BMC: s.chassis(h), Bound: bound, UUID: h.Spec.SystemUUID}, nil
	case v1alpha1.PowerWoL:
		w := wol.Switch{Host: h, Cluster: s.cluster(h.Spec.Provider), Bound: bound}
		if p.Credentials != nil {
			w.Credentials = s.registry.credentials(p.Credentials)
		}
		return w, nil
	}
	return nil, fmt.Errorf("host %s: power.interface %q: %w", h.Name, p.Interface, provider.ErrMisconfigured)
}

func (s *hostSwitches) bmc(h *v1alpha1.Host) (*redfish.BMC, error) {
	p := h.Spec.Power
	p.System, p.Boot = "", "" // of the system, not of the BMC
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(p)
	if known := s.redfish[key]; known != nil {
		return known, nil
	}
	transport, err := dial.Transport(p.TLS)
	if err != nil {
		return nil, err
	}
	if p.TLS != nil && p.TLS.InsecureSkipVerify {
		s.warn(h, "power.tls.insecureSkipVerify trusts any server: set caBundle or fingerprint instead")
	}
	if s.redfish == nil {
		s.redfish = map[string]*redfish.BMC{}
	}
	s.redfish[key] = redfish.New(redfish.Config{Endpoint: p.Address, Auth: p.Auth, Transport: s.breaker(transport),
		Credentials: s.registry.credentials(p.Credentials)})
	return s.redfish[key], nil
}

func (s *hostSwitches) chassis(h *v1alpha1.Host) *ipmi.BMC {
	p := h.Spec.Power
	p.Boot = ""
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(p)
	if s.ipmi == nil {
		s.ipmi = map[string]*ipmi.BMC{}
	}
	if s.ipmi[key] == nil {
		s.ipmi[key] = ipmi.New(ipmi.Config{Address: p.Address, Suites: p.CipherSuites,
			Credentials: s.registry.credentials(p.Credentials), Breaker: s.breaker(nil)})
	}
	return s.ipmi[key]
}

// keyOf is equal for two hosts exactly when they reach the same BMC in the same way.
func keyOf(p v1alpha1.Power) string {
	key, _ := json.Marshal(p) // of strings and numbers only: it cannot fail
	return string(key)
}

// close logs out of every BMC, all at a time.
func (s *hostSwitches) close(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all sync.WaitGroup
	for _, bmc := range s.redfish {
		all.Go(func() { bmc.Close(ctx) })
	}
	all.Wait()
}
