package ipmi_test

import (
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/host/hosttest"
	"github.com/muster-sh/muster/provider/host/ipmi"
	"github.com/muster-sh/muster/provider/host/ipmi/ipmisim"
)

// reversed is a GUID with its last byte first, as IPMI 2.0 has it.
func reversed(g [16]byte) [16]byte {
	var out [16]byte
	for i, b := range g {
		out[len(g)-1-i] = b
	}
	return out
}

// What a BMC tells is compared with itself, in whatever byte order; a GUID that a factory left on every board is none.
func TestTheIdentityIsTheGUIDAndWithoutOneTheSerialNumberOfTheBoard(t *testing.T) {
	clock := &hosttest.Clock{}
	for name, c := range map[string]struct {
		config ipmisim.Config
		want   v1alpha1.MachineIdentity
	}{
		"a GUID":                        {ipmisim.Config{GUID: guid(1)}, v1alpha1.MachineIdentity{SystemUUID: hosttest.UUID(1)}},
		"a GUID, its last byte first":   {ipmisim.Config{GUID: reversed(guid(1))}, v1alpha1.MachineIdentity{SystemUUID: hosttest.UUID(1)}},
		"a GUID beside an inventory":    {ipmisim.Config{GUID: guid(1), BoardSerial: "B-77"}, v1alpha1.MachineIdentity{SystemUUID: hosttest.UUID(1)}},
		"a serial number":               {ipmisim.Config{NoGUID: true, BoardSerial: "B-77"}, v1alpha1.MachineIdentity{Serial: "B-77"}},
		"what the maker left":           {ipmisim.Config{NoGUID: true, BoardSerial: "To be filled by O.E.M."}, v1alpha1.MachineIdentity{}},
		"nothing":                       {ipmisim.Config{NoGUID: true}, v1alpha1.MachineIdentity{}},
		"a GUID that a factory left":    {ipmisim.Config{GUID: [16]byte{0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9}}, v1alpha1.MachineIdentity{}},
		"a factory's, and an inventory": {ipmisim.Config{GUID: [16]byte{0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9}, BoardSerial: "B-77"}, v1alpha1.MachineIdentity{Serial: "B-77"}},
	} {
		r, err := connect(listen(t, clock, c.config), clock, canary).Read(t.Context())
		require.NoError(t, err, name)
		c.want.Address = "bmc-01.example"
		require.Equal(t, c.want, r.Identity, name)
	}
}

// The address is another machine's by now, or its BMC tells nothing any more: nothing is switched, and no boot device is set.
func TestM09NoCallChangesAnythingOfAnotherMachine(t *testing.T) {
	for name, c := range map[string]struct {
		is   ipmisim.Config
		then func(b *ipmisim.BMC)
	}{
		"another GUID":           {ipmisim.Config{GUID: guid(1)}, func(b *ipmisim.BMC) { b.Is(guid(7)) }},
		"no GUID any more":       {ipmisim.Config{GUID: guid(1)}, func(b *ipmisim.BMC) { b.Is([16]byte{}) }},
		"another, reversed GUID": {ipmisim.Config{GUID: reversed(guid(1))}, func(b *ipmisim.BMC) { b.Is(reversed(guid(7))) }},
	} {
		t.Run(name, func(t *testing.T) {
			clock := &hosttest.Clock{}
			b := listen(t, clock, c.is)
			b.Set(true)
			b.SetBoot(types.BootDeviceSelectorForcePXE)
			r, err := connect(b, clock, canary).Read(t.Context())
			require.NoError(t, err)
			h := claimed(1)
			h.Status.Identity = &r.Identity
			h.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionIdentified, Status: metav1.ConditionTrue, Reason: "Identified"}}
			s := ipmi.Switch{BMC: dialed(b, clock, canary), Bound: host.Bind(h, clock.Now), UUID: h.Spec.SystemUUID}
			c.then(b)
			for verb, call := range map[string]func() error{
				"shutdown":  func() error { return s.Shutdown(t.Context(), permit(clock)) },
				"off":       func() error { return s.Off(t.Context(), permit(clock)) },
				"on":        func() error { return s.On(t.Context(), v1alpha1.BootDisk) },
				"clearboot": func() error { return s.ClearBoot(t.Context()) },
			} {
				require.ErrorIs(t, call(), provider.ErrBusy, "nothing was done: %s", verb)
			}
			require.Empty(t, b.Ops())
			require.Equal(t, types.BootDeviceSelectorForcePXE, b.Boot())
			b.Is(c.is.GUID)
			require.NoError(t, s.Off(t.Context(), permit(clock)))
			require.Equal(t, []string{"off"}, b.Ops())
			require.Error(t, s.Off(t.Context(), nil), "without a proof")
			require.Equal(t, []string{"off"}, b.Ops())
		})
	}
}

// The address was given to another machine while its host served: that one is not switched off, and the host tells both.
func TestM09AnotherMachineAtTheAddressIsNotSwitchedOff(t *testing.T) {
	rack, room := rackOf(t, 1, ipmisim.Config{})
	sim := room.sims["host-00"]
	m, err := rack.Provider.Create(t.Context(), provider.Request{Claim: "std-000", ClaimUID: "uid", Attempt: 1, Pool: "std"})
	require.NoError(t, err)
	rack.Advance(t, time.Minute)
	m, err = rack.Provider.Get(t.Context(), m)
	require.NoError(t, err)
	sim.Is(guid(7))
	require.NoError(t, rack.Provider.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, rack.Now())))
	rack.Advance(t, time.Hour)
	require.Equal(t, []string{"on"}, sim.Ops())
	h := rack.Objects.Get("host-00")
	require.Equal(t, v1alpha1.HostPoweringOff, h.Status.State)
	require.Contains(t, h.Status.Message, hosttest.UUID(7))
	require.Contains(t, h.Status.Message, hosttest.UUID(0))
	require.Equal(t, hosttest.UUID(0), h.Status.Identity.SystemUUID)
	sim.Is(guid(0))
	rack.Advance(t, 20*time.Minute)
	require.Equal(t, v1alpha1.HostOff, rack.Objects.Get("host-00").Status.State)
}
