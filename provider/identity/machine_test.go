package identity_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/identity"
)

const (
	uuid    = "5d5c3f6e-0001-4000-8000-00000000000a"
	swapped = "6e3f5c5d-0100-0040-8000-00000000000a"
)

func TestUUIDsAreComparedInEitherByteOrder(t *testing.T) {
	require.Equal(t, swapped, identity.Swapped(uuid))
	require.Equal(t, identity.UUID(uuid), identity.UUID(swapped))
	require.Equal(t, identity.UUID(uuid), identity.UUID(" 5D5C3F6E-0001-4000-8000-00000000000A\n"))
	require.NotEqual(t, identity.UUID(uuid), identity.UUID("5d5c3f6e-0001-4000-8000-00000000000b"))
	require.Equal(t, "not-a-uuid", identity.UUID("Not-a-UUID"))
}

func TestAFactoryUUIDIsNoUUID(t *testing.T) {
	for _, f := range []string{
		"", "00000000-0000-0000-0000-000000000000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "11111111-1111-1111-1111-111111111111",
		"03000200-0400-0500-0006-000700080009", "00020003-0004-0005-0006-000700080009", "fefefefe-fefe-fefe-fefe-fefefefefefe",
		"12345678-1234-5678-90AB-CDDEEFAABBCC",
	} {
		require.Empty(t, identity.UUID(f), f)
	}
	for _, real := range []string{uuid, "1", "uuid-a"} {
		require.NotEmpty(t, identity.UUID(real), real)
	}
}

func TestAMachineIsProvenByAllThatWasRecorded(t *testing.T) {
	whole := v1alpha1.MachineIdentity{ID: "101", Name: "std-000", SystemUUID: uuid, Address: "https://10.0.0.1", System: "1", Serial: "S", MAC: "aa:bb:cc:dd:ee:ff"}
	other := whole
	other.SystemUUID, other.MAC = swapped, "AA:BB:CC:DD:EE:FF"
	require.Empty(t, identity.Unproven(whole, other), "in another spelling")
	for name, edit := range map[string]func(*v1alpha1.MachineIdentity){
		"ID":            func(m *v1alpha1.MachineIdentity) { m.ID = "102" },
		"name":          func(m *v1alpha1.MachineIdentity) { m.Name = "db" },
		"BMC address":   func(m *v1alpha1.MachineIdentity) { m.Address = "https://10.0.0.2" },
		"BMC system":    func(m *v1alpha1.MachineIdentity) { m.System = "2" },
		"system UUID":   func(m *v1alpha1.MachineIdentity) { m.SystemUUID = "5d5c3f6e-0001-4000-8000-00000000000b" },
		"serial number": func(m *v1alpha1.MachineIdentity) { m.Serial = "T" },
		"MAC":           func(m *v1alpha1.MachineIdentity) { m.MAC = "aa:bb:cc:dd:ee:00" },
	} {
		now := whole
		edit(&now)
		require.Contains(t, identity.Contradiction(whole, now), name)
		require.Contains(t, identity.Unproven(whole, now), name)
	}
	missing := whole
	missing.SystemUUID = "" // a BMC that does not tell it for a while
	require.Empty(t, identity.Contradiction(whole, missing))
	require.Contains(t, identity.Unproven(whole, missing), "is not told now")
	require.Contains(t, identity.Unproven(v1alpha1.MachineIdentity{ID: "101"}, v1alpha1.MachineIdentity{ID: "101"}), "was ever recorded")
	require.Equal(t, "ID 101, serial number S", identity.String(v1alpha1.MachineIdentity{ID: "101", Serial: "S"}))
}

func TestTwinsCannotBeToldApart(t *testing.T) {
	at := func(address, system, uuid, serial string) v1alpha1.MachineIdentity {
		return v1alpha1.MachineIdentity{Address: address, System: system, SystemUUID: uuid, Serial: serial}
	}
	for name, c := range map[string]struct {
		a, b  v1alpha1.MachineIdentity
		twins bool
	}{
		"one BMC and no system":          {at("https://a", "", "", ""), at("https://A", "", "", ""), true},
		"one BMC and one system":         {at("https://a", "1", "", ""), at("https://a", "1", "", ""), true},
		"one BMC with two systems":       {at("https://a", "1", "", ""), at("https://a", "2", "", ""), false},
		"one UUID":                       {at("", "", uuid, ""), at("", "", swapped, ""), true},
		"one UUID on two boards":         {at("", "", uuid, "S"), at("", "", uuid, "T"), false},
		"a factory's UUID on two boards": {at("https://a", "", "03000200-0400-0500-0006-000700080009", ""), at("https://b", "", "03000200-0400-0500-0006-000700080009", ""), false},
		"nothing is known":               {at("", "", "", ""), at("", "", "", ""), false},
	} {
		require.Equal(t, c.twins, identity.Twins(c.a, c.b) != "", name)
		require.Equal(t, c.twins, identity.Twins(c.b, c.a) != "", name)
	}
}

func TestEveryNodeThatCouldBeTheMachineIsFound(t *testing.T) {
	mine, other := claim("a-000", "px://1", uuid, "a-000"), claim("a-001", "px://2", "5d5c3f6e-0001-4000-8000-00000000000b", "a-001")
	mine.Status.NodeUID = "node-old"
	claims := []*v1alpha1.NodeClaim{mine, other}
	old := node("old", "", "")
	renamed, named, theirs := node("renamed", "", swapped), node("a-000", "", "5d5c3f6e-0001-4000-8000-00000000000c"), node("a-001", "px://2", "")
	marked := node("marked", "", "")
	marked.Annotations = map[string]string{v1alpha1.RegisteredAnnotation: string(mine.UID)}
	stranger := node("stranger", "px://9", "")
	nodes := []*corev1.Node{theirs, stranger, renamed, named, old, marked}
	for range 2 {
		var names []string
		for _, f := range identity.Candidates(mine, claims, nodes) {
			names = append(names, f.Node.Name)
			require.Empty(t, f.Others, f.Node.Name)
			require.NotEmpty(t, f.Why)
		}
		require.Equal(t, []string{"a-000", "marked", "old", "renamed"}, names)
		slices.Reverse(nodes)
	}
	both := node("both", "", uuid)
	twin := claim("a-002", "", uuid, "")
	for _, f := range identity.Candidates(twin, append(claims, twin), []*corev1.Node{both}) {
		require.Equal(t, []string{"a-000"}, f.Others)
	}
	require.Len(t, identity.Candidates(twin, append(claims, twin), []*corev1.Node{both}), 1)
}
