package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/providertest"
)

var redfishPower = v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://bmc.example"}

// rackOf is a rack of so many hosts with lamps for switches.
func rackOf(t *testing.T, n int) (*hosttest.Rack, hosttest.Lamps) {
	t.Helper()
	lamps := hosttest.Lamps{}
	rack := hosttest.NewRack(hosttest.SwitchFunc(func(_ context.Context, h *v1alpha1.Host) (host.Switch, error) {
		return lamps[h.Name], nil
	}))
	for i := range n {
		h := hosttest.Host(i, redfishPower)
		lamps[h.Name] = &hosttest.Lamp{Clock: rack.Clock, Delay: 20 * time.Second, Identity: lampOf(h)}
		rack.Objects.Put(h)
	}
	return rack, lamps
}

// lampOf is what the lamp of a host says that it is.
func lampOf(h *v1alpha1.Host) v1alpha1.MachineIdentity {
	return v1alpha1.MachineIdentity{Address: identity.BMC(h.Spec.Power.Address), System: "1", SystemUUID: h.Spec.SystemUUID}
}

func TestTheProviderKeepsTheContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Backend {
		rack, lamps := rackOf(t, hosttest.SuiteHosts)
		return hosttest.Backend(t, rack, lamps, func(name string) *v1alpha1.Host {
			h := hosttest.Host(99, redfishPower)
			h.Name = name
			lamps[name] = &hosttest.Lamp{Clock: rack.Clock, Identity: lampOf(h)}
			return h
		})
	})
}
