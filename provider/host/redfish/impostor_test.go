package redfish_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/redfish"
	"github.com/muster-sh/muster/provider/host/redfish/redfishsim"
)

// impostors are what a BMC may tell of instead of the system that was recorded.
var impostors = map[string]redfishsim.Blade{
	"another UUID in the slot":            {ID: "1", UUID: hosttest.UUID(7), Serial: "SN-1"},
	"another serial number in the slot":   {ID: "1", UUID: hosttest.UUID(1), Serial: "SN-7"},
	"another blade in the slot":           {ID: "1", UUID: hosttest.UUID(7), Serial: "SN-7"},
	"the list names another system only":  {ID: "2", UUID: hosttest.UUID(7), Serial: "SN-7"},
	"the board moved to another slot":     {ID: "2", UUID: hosttest.UUID(1), Serial: "SN-1"},
	"another one that tells nothing else": {ID: "2", UUID: "", Serial: ""},
	"the slot tells nothing":              {ID: "1", UUID: "", Serial: ""},
}

// Each call that changes something compares the system with the recorded one in the same operation, also where one system is listed.
func TestM09NoCallChangesAnythingOfAnotherSystem(t *testing.T) {
	for name, other := range impostors {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, redfishsim.IDRAC9())
			b.Set(true)
			r, err := b.Read(t.Context())
			require.NoError(t, err)
			b.host.Status.Identity = &r.Identity
			b.host.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionIdentified, Status: metav1.ConditionTrue, Reason: "Identified"}}
			b.Swap(&other)
			asked := 0
			permit := func() host.Permit {
				asked++
				return b.permit()
			}
			s := redfish.Switch{BMC: b.bmc, Bound: host.Bind(b.host, b.clock.Now)}
			for verb, call := range map[string]func() error{
				"shutdown":  func() error { return s.Shutdown(t.Context(), permit()) },
				"off":       func() error { return s.Off(t.Context(), permit()) },
				"on":        func() error { b.Set(false); defer b.Set(true); return s.On(t.Context(), v1alpha1.BootPXE) },
				"clearboot": func() error { return s.ClearBoot(t.Context()) },
			} {
				err := call()
				if other.ID != "1" || other.UUID != "" {
					var another *host.Another
					require.ErrorAs(t, err, &another, verb)
				}
				require.ErrorIs(t, err, provider.ErrBusy, "nothing was done: %s", verb)
				require.NotContains(t, err.Error(), canary)
			}
			require.Empty(t, b.Changed(), "0 calls that change anything")
			b.Swap(nil)
			require.NoError(t, s.Off(t.Context(), b.permit()), "the recorded one answers again")
			require.Equal(t, []string{"ForceOff"}, b.Taken())
		})
	}
}

// A power-off wants a proof: without one, with one of another host or claim, or with one that is spent, nothing is changed.
func TestAPowerOffWantsAProof(t *testing.T) {
	b := newBench(t, redfishsim.IDRAC9())
	b.Set(true)
	s := redfish.Switch{BMC: b.bmc, Bound: host.Bind(b.host, b.clock.Now)}
	other := claimed(2)
	stranger := claimed(1)
	stranger.Status.Claim.UID = "another"
	spent := gatetest.Proof(t, gate.PowerOff, host.Subject(b.host), one, b.clock.Now())
	require.NoError(t, spent.Spend(gate.PowerOff, host.Subject(b.host), b.clock.Now()))
	for name, permit := range map[string]host.Permit{
		"none":                  nil,
		"of another host":       hosttest.Permits(other, b.clock.Now),
		"of another claim":      hosttest.Permits(stranger, b.clock.Now),
		"spent":                 proves(spent),
		"too old":               proves(gatetest.Proof(t, gate.PowerOff, host.Subject(b.host), one, b.clock.Now().Add(-gate.Life-time.Second))),
		"of another act":        proves(gatetest.Proof(t, gate.Delete, host.Subject(b.host), one, b.clock.Now())),
		"about another machine": proves(gatetest.Proof(t, gate.PowerOff, host.Subject(b.host), v1alpha1.MachineIdentity{SystemUUID: hosttest.UUID(9)}, b.clock.Now())),
		"refused": func(_ context.Context, _ v1alpha1.MachineIdentity) (gate.Proof, error) {
			return gate.Proof{}, &host.Denied{Err: &gate.Refusal{}}
		},
		"the zero proof":          proves(gate.Proof{}),
		"permitted without proof": func(context.Context, v1alpha1.MachineIdentity) (gate.Proof, error) { return gate.Proof{}, nil },
	} {
		require.Error(t, s.Off(t.Context(), permit), name)
		require.Error(t, s.Shutdown(t.Context(), permit), name)
	}
	require.Empty(t, b.Changed())
	once := proves(gatetest.Proof(t, gate.PowerOff, host.Subject(b.host), one, b.clock.Now()))
	require.NoError(t, s.Shutdown(t.Context(), once))
	b.pass(time.Minute)
	b.Set(true)
	require.Error(t, s.Off(t.Context(), once), "it is good for one act")
}

func proves(p gate.Proof) host.Permit {
	return func(context.Context, v1alpha1.MachineIdentity) (gate.Proof, error) { return p, nil }
}

// A blade is moved while its host serves: the one that is in the slot now is neither shut down nor forced off, however long the claim
// has given its host back. The host and the machine of the claim tell both identities.
func TestM09AnotherBladeInTheSlotIsNotSwitchedOff(t *testing.T) {
	for name, other := range impostors {
		t.Run(name, func(t *testing.T) {
			rack, room := rackBy(t, 1, redfishsim.IDRAC9(), true)
			m, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
			require.NoError(t, err)
			rack.Advance(t, 2*time.Minute)
			rack.Claims.Set("uid", host.ClaimSight{State: v1alpha1.ClaimReleasing, Served: true})
			require.Equal(t, v1alpha1.HostJoining, rack.Objects.Get("host-00").Status.State)
			before := room.sims["host-00"].Changed()
			recorded := rack.Objects.Get("host-00").Status.Identity
			require.NotNil(t, recorded)
			m, err = rack.Provider.Get(t.Context(), m)
			require.NoError(t, err)
			room.sims["host-00"].Swap(&other)
			require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
			rack.Advance(t, 15*time.Minute)
			require.Equal(t, before, room.sims["host-00"].Changed(), "nothing of it was changed")
			h := rack.Objects.Get("host-00")
			require.Equal(t, v1alpha1.HostPoweringOff, h.Status.State, "it is not gone")
			require.Equal(t, recorded, h.Status.Identity, "never overwritten")
			if other.UUID != "" || other.ID != "1" {
				require.NotNil(t, h.Status.Met)
				require.Contains(t, rack.Events(), "host-00 IdentityMismatch")
				got, err := rack.Provider.Get(t.Context(), m)
				require.NoError(t, err)
				require.NotEqual(t, m.Identity, got.Identity, "its claim is told")
				require.Equal(t, provider.StateDeleting, got.State)
			}
			room.sims["host-00"].Swap(nil)
			rack.Advance(t, 20*time.Minute)
			require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State, "the blade is back, and is switched off")
		})
	}
}
