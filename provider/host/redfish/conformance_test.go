package redfish_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
	"github.com/muster-sh/muster/provider/providertest"
)

// room is a room of BMCs by host name.
type room struct {
	t     *testing.T
	sims  map[string]*redfishsim.BMC
	bmcs  map[string]*redfish.BMC
	keys  map[string]string
	clock *hosttest.Clock
	wire  *providertest.Wire // between Muster and all of them
	turns int                // of the credentials
	// direct has no connections between the wire and the BMCs.
	direct bool
}

func (r *room) IsOn(name string) bool { return r.sims[name].IsOn() }
func (r *room) SwitchOn(name string)  { r.sims[name].Set(true) }

func (r *room) add(n int, p redfishsim.Personality) *v1alpha1.Host {
	h := hosttest.Host(n, v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://bmc.example"})
	r.put(h, &redfishsim.BMC{Personality: p, UUID: hosttest.UUID(n), Username: "root", Password: r.keys["password"], Now: r.clock.Now})
	return h
}

func (r *room) put(h *v1alpha1.Host, sim *redfishsim.BMC) {
	r.sims[h.Name] = sim
	if r.direct {
		r.bmcs[h.Name] = r.client(h.Name, sim)
		return
	}
	r.bmcs[h.Name] = connectBy(r.t, r.wire, sim, r.keys, r.clock, "")
}

// client is a client of a BMC that no connection lies before.
func (r *room) client(name string, sim *redfishsim.BMC) *redfish.BMC {
	return clientOf(r.t, r.wire, "https://"+name+".example", providertest.Direct{Handler: sim}, r.keys, r.clock, "")
}

// rotate changes the password at every BMC, which ends its sessions, and in the Secret.
func (r *room) rotate() {
	r.turns++
	r.keys["password"] = fmt.Sprintf("%s-%d", canary, r.turns)
	for _, sim := range r.sims {
		sim.SetPassword(r.keys["password"])
		sim.Expire()
	}
}

// rackOf is a rack whose hosts have this personality's BMCs.
func rackOf(t *testing.T, hosts int, p redfishsim.Personality) (*hosttest.Rack, *room) {
	t.Helper()
	return rackBy(t, hosts, p, false)
}

func rackBy(t *testing.T, hosts int, p redfishsim.Personality, direct bool) (*hosttest.Rack, *room) {
	t.Helper()
	r := &room{t: t, direct: direct, sims: map[string]*redfishsim.BMC{}, bmcs: map[string]*redfish.BMC{}, keys: map[string]string{"username": "root", "password": canary},
		wire: &providertest.Wire{Base: &hosttest.Exchange{}}}
	rack := hosttest.NewRack(hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
		return redfish.Switch{BMC: r.bmcs[h.Name], System: h.Spec.Power.System, UUID: h.Spec.SystemUUID, Bound: host.Bind(h, r.clock.Now)}, nil
	}))
	r.clock = rack.Clock
	for n := range hosts {
		rack.Objects.Put(r.add(n, p))
	}
	return rack, r
}

func backend(t *testing.T, hosts int, p redfishsim.Personality, direct bool) (providertest.Backend, *hosttest.Rack, *room) {
	rack, room := rackBy(t, hosts, p, direct)
	rack.Keeper.Rules.Idle, rack.Keeper.Rules.Watch = 4*time.Hour, 20*time.Minute // fewer handshakes
	b := hosttest.Backend(t, rack, room, func(name string) *v1alpha1.Host {
		h := hosttest.Host(99, v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://bmc.example"})
		h.Name = name
		room.put(h, &redfishsim.BMC{Personality: p, UUID: hosttest.UUID(99), Username: "root", Password: canary, Now: rack.Now})
		return h
	})
	b.Secrets, b.Rotate = []string{canary, "token-1-canary"}, room.rotate
	return b, rack, room
}

func TestTheProviderKeepsTheContractOverRedfish(t *testing.T) {
	for name, p := range map[string]redfishsim.Personality{"iLO 5": redfishsim.ILO5(), "iDRAC 9": redfishsim.IDRAC9()} {
		t.Run(name, func(t *testing.T) {
			providertest.Run(t, func(t *testing.T) providertest.Backend {
				b, _, _ := backend(t, hosttest.SuiteHosts, p, false)
				return b
			})
		})
	}
}

// Every request of every verb, to the API server or to a BMC, is broken in every way.
func TestTheProviderKeepsTheContractOverABadWire(t *testing.T) {
	providertest.RunWire(t, func(t *testing.T) providertest.Backend {
		b, rack, room := backend(t, hosttest.WireHosts, redfishsim.Quanta(), true)
		rack.OverTheWire(t, room.wire)
		b.Provider, b.Wire = rack.Provider, room.wire
		return b
	})
}
