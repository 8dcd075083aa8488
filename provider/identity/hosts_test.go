package identity_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/identity"
)

func TestAddressesOfOneBMCAreOne(t *testing.T) {
	for spelled, want := range map[string]string{
		"https://BMC-7.example/": "bmc-7.example", "https://bmc-7.example:443": "bmc-7.example", "bmc-7.example:623": "bmc-7.example",
		"bmc-7.example": "bmc-7.example", "https://10.0.9.7:8443/redfish": "10.0.9.7:8443", "10.0.9.7:1623": "10.0.9.7:1623",
		"https://[fd00::7]/": "fd00::7", "https://[fd00::7]:443": "fd00::7", "fd00::443": "fd00::443", "": "",
	} {
		require.Equal(t, want, identity.BMC(spelled), spelled)
	}
}

func TestWhatAMakerLeftIsNoSerialNumber(t *testing.T) {
	for _, none := range []string{"", " ", "To Be Filled By O.E.M.", "Default string", "0123456789", "00000000", "xxxx", "N/A", "System Serial Number"} {
		require.Empty(t, identity.Serial(none), none)
	}
	require.Equal(t, "CZJ12345X7", identity.Serial(" CZJ12345X7 "))
}

func host(name string, change func(*v1alpha1.Host)) *v1alpha1.Host {
	h := &v1alpha1.Host{ObjectMeta: metav1.ObjectMeta{Name: name}}
	h.Spec.Power = v1alpha1.Power{Interface: v1alpha1.PowerRedfish, Address: "https://" + name}
	if change != nil {
		change(h)
	}
	return h
}

func at(address, system string) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Spec.Power.Address, h.Spec.Power.System = address, system }
}

func read(id v1alpha1.MachineIdentity) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) { h.Status.Identity = &id }
}

func all(changes ...func(*v1alpha1.Host)) func(*v1alpha1.Host) {
	return func(h *v1alpha1.Host) {
		for _, c := range changes {
			c(h)
		}
	}
}

func TestM10HostsThatCannotBeToldApart(t *testing.T) {
	const uuid, other = "6d757374-6572-4000-8000-000000000007", "6d757374-6572-4000-8000-000000000008"
	for name, c := range map[string]struct {
		a, b func(*v1alpha1.Host)
		why  string
	}{
		"two hosts":                         {nil, nil, ""},
		"one BMC":                           {at("https://bmc", ""), at("https://BMC:443/", ""), "both have BMC bmc"},
		"one BMC, by Redfish and IPMI":      {at("https://bmc", ""), all(at("bmc:623", ""), func(h *v1alpha1.Host) { h.Spec.Power.Interface = v1alpha1.PowerIPMI }), "both have BMC bmc"},
		"one BMC, one of two systems known": {at("https://bmc", "1"), at("https://bmc", ""), "both have BMC bmc"},
		"two systems of one BMC":            {at("https://bmc", "1"), at("https://bmc", "2"), ""},
		"one system by two names, read": {all(at("https://bmc", "1"), read(v1alpha1.MachineIdentity{System: "1"})),
			all(at("https://bmc", uuid), read(v1alpha1.MachineIdentity{System: "1"})), "both have BMC bmc"},
		"one BMC, two serial numbers": {all(at("https://bmc", ""), read(v1alpha1.MachineIdentity{Serial: "A1"})),
			all(at("https://bmc", ""), read(v1alpha1.MachineIdentity{Serial: "B2"})), ""},
		"one UUID, declared":            {func(h *v1alpha1.Host) { h.Spec.SystemUUID = uuid }, func(h *v1alpha1.Host) { h.Spec.SystemUUID = uuid }, "system UUID " + uuid},
		"one UUID, declared and read":   {func(h *v1alpha1.Host) { h.Spec.SystemUUID = uuid }, read(v1alpha1.MachineIdentity{SystemUUID: identity.Swapped(uuid)}), "both have system UUID"},
		"one UUID, two serial numbers":  {read(v1alpha1.MachineIdentity{SystemUUID: uuid, Serial: "A1"}), read(v1alpha1.MachineIdentity{SystemUUID: uuid, Serial: "B2"}), ""},
		"a factory's UUID":              {func(h *v1alpha1.Host) { h.Spec.SystemUUID = "03000200-0400-0500-0006-000700080009" }, func(h *v1alpha1.Host) { h.Spec.SystemUUID = "03000200-0400-0500-0006-000700080009" }, ""},
		"one serial number":             {read(v1alpha1.MachineIdentity{Serial: "A1"}), read(v1alpha1.MachineIdentity{Serial: "A1"}), "serial number A1"},
		"a chassis' serial, two boards": {read(v1alpha1.MachineIdentity{Serial: "A1", SystemUUID: uuid}), read(v1alpha1.MachineIdentity{Serial: "A1", SystemUUID: other}), ""},
		"one card": {func(h *v1alpha1.Host) { h.Spec.Power = v1alpha1.Power{MAC: "52:54:00:00:00:0A"} },
			func(h *v1alpha1.Host) { h.Spec.Power = v1alpha1.Power{MAC: "52:54:00:00:00:0a"} }, "MAC 52:54:00:00:00:0a"},
	} {
		twins := identity.HostTwins([]*v1alpha1.Host{host("bmc-a", c.a), host("bmc-b", c.b), host("bmc-c", nil)})
		require.NotContains(t, twins, "bmc-c", name)
		if c.why == "" {
			require.Empty(t, twins, name)
			continue
		}
		require.Len(t, twins["bmc-a"], 1, name)
		require.Contains(t, twins["bmc-a"][0], "host bmc-b ", name)
		require.Contains(t, twins["bmc-a"][0], c.why, name)
		require.Contains(t, twins["bmc-b"][0], "host bmc-a ", name)
	}
}
