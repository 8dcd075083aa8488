package identity

import (
	"fmt"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// fact is one part of a machine's identity.
type fact struct {
	name          string
	recorded, now string
	tells         bool // it alone tells one machine from every other one
}

func facts(recorded, now v1alpha1.MachineIdentity) []fact {
	return []fact{
		{"ID", recorded.ID, now.ID, false},
		{"name", recorded.Name, now.Name, false},
		{"BMC address", recorded.Address, now.Address, false},
		{"BMC system", recorded.System, now.System, false},
		{"system UUID", UUID(recorded.SystemUUID), UUID(now.SystemUUID), true},
		{"serial number", recorded.Serial, now.Serial, true},
		{"MAC", strings.ToLower(recorded.MAC), strings.ToLower(now.MAC), true},
	}
}

// Contradiction says what of a reading speaks against the recorded identity; empty when nothing does. A fact that either side does
// not know contradicts nothing.
func Contradiction(recorded, now v1alpha1.MachineIdentity) string {
	for _, f := range facts(recorded, now) {
		if differ(f.recorded, f.now) {
			return fmt.Sprintf("%s is %q and was recorded as %q", f.name, f.now, f.recorded)
		}
	}
	return ""
}

// Unproven says what a reading lacks to be the recorded machine; empty when it is proven to be: every recorded fact was read and
// agrees, and at least one of them tells machines apart.
func Unproven(recorded, now v1alpha1.MachineIdentity) string {
	if why := Contradiction(recorded, now); why != "" {
		return why
	}
	told := false
	for _, f := range facts(recorded, now) {
		if f.recorded != "" && f.now == "" {
			return fmt.Sprintf("%s %q was recorded and is not told now", f.name, f.recorded)
		}
		told = told || f.tells && f.recorded != ""
	}
	if !told {
		return "neither a system UUID, nor a serial number, nor a MAC of the machine was ever recorded"
	}
	return ""
}

// Twins says why two machines cannot be told apart; empty when they can. BMC address and system name one machine, and so does a
// system UUID.
func Twins(a, b v1alpha1.MachineIdentity) string {
	switch {
	case a.Serial != "" && b.Serial != "" && a.Serial != b.Serial:
		return "" // two boards
	case a.Address != "" && strings.EqualFold(a.Address, b.Address) && (a.System == "" || b.System == "" || a.System == b.System):
		return fmt.Sprintf("both have BMC %s", a.Address)
	case UUID(a.SystemUUID) != "" && UUID(a.SystemUUID) == UUID(b.SystemUUID):
		return fmt.Sprintf("both have system UUID %s", a.SystemUUID)
	}
	return ""
}

// differ reports whether both are known and not the same.
func differ(a, b string) bool { return a != "" && b != "" && a != b }

// String names what is known of an identity, as it was told.
func String(id v1alpha1.MachineIdentity) string {
	var parts []string
	for _, f := range []struct{ name, value string }{
		{"ID", id.ID}, {"name", id.Name}, {"BMC address", id.Address}, {"BMC system", id.System}, {"system UUID", id.SystemUUID},
		{"serial number", id.Serial}, {"MAC", id.MAC},
	} {
		if f.value != "" {
			parts = append(parts, f.name+" "+f.value)
		}
	}
	return strings.Join(parts, ", ")
}
