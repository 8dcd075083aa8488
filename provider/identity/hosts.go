package identity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// BMC is the form in which the addresses of BMCs are compared: without scheme, default port and path. A Redfish service and an IPMI
// one at the same address are one BMC.
func BMC(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	}
	address, _, _ = strings.Cut(address, "/")
	for _, port := range []string{":443", ":623"} {
		if bare, found := strings.CutSuffix(address, port); found && (!strings.Contains(bare, ":") || strings.HasSuffix(bare, "]")) {
			address = bare
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(address, "["), "]")
}

// unset are what boards say whose maker wrote no serial number, as dmidecode and ipmitool users report them.
var unset = []string{"none", "n/a", "na", "not specified", "not available", "not applicable", "not set", "unknown", "empty", "default",
	"default string", "to be filled by o.e.m.", "to be filled by oem", "system serial number", "base board serial number",
	"chassis serial number", "serial number", "oem", "o.e.m.", "0123456789", "1234567890", "123456789", "invalid", "null"}

// Serial is a serial number that tells a board from others; empty for what a maker left on all of them.
func Serial(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || slices.Contains(unset, strings.ToLower(s)) || strings.Trim(s, s[:1]) == "" {
		return ""
	}
	return s
}

// OfHost is what is known of a host's machine: what was recorded at the first reading, and what its spec declares where nothing was.
func OfHost(h *v1alpha1.Host) v1alpha1.MachineIdentity {
	id := v1alpha1.MachineIdentity{}
	if h.Status.Identity != nil {
		id = *h.Status.Identity
	}
	power := h.Spec.Power
	id.ID, id.Name, id.Address, id.MAC = string(h.UID), h.Name, BMC(power.Address), strings.ToLower(power.MAC)
	if id.System == "" {
		id.System = power.System
	}
	if UUID(id.SystemUUID) == "" {
		id.SystemUUID = h.Spec.SystemUUID
	}
	return id
}

// HostTwins says, by the name of a host, which others cannot be told apart from it, and why. Hosts on one BMC are one machine unless
// they are known to be different systems of it; so are those with one system UUID, one serial number or one MAC. Different serial
// numbers are different machines.
func HostTwins(hosts []*v1alpha1.Host) map[string][]string {
	groups, ids := map[string][]*v1alpha1.Host{}, map[string]v1alpha1.MachineIdentity{}
	for _, h := range hosts {
		id := OfHost(h)
		ids[h.Name] = id
		for _, key := range slices.Compact(slices.Sorted(slices.Values([]string{
			"BMC " + id.Address, "UUID " + UUID(id.SystemUUID), "serial " + id.Serial, "MAC " + id.MAC,
		}))) {
			if !strings.HasSuffix(key, " ") {
				groups[key] = append(groups[key], h)
			}
		}
	}
	twins := map[string][]string{}
	for _, group := range groups {
		for _, h := range group {
			for _, o := range group {
				if o.Name == h.Name {
					continue
				}
				if why := oneMachine(ids[h.Name], ids[o.Name]); why != "" {
					twins[h.Name] = append(twins[h.Name], fmt.Sprintf("host %s (%s)", o.Name, why))
				}
			}
		}
	}
	for name := range twins {
		slices.Sort(twins[name])
		twins[name] = slices.Compact(twins[name])
	}
	return twins
}

// oneMachine says why two hosts cannot be told apart.
func oneMachine(a, b v1alpha1.MachineIdentity) string {
	if why := Twins(a, b); why != "" {
		return why
	}
	switch {
	case a.Serial != "" && a.Serial == b.Serial && !differ(UUID(a.SystemUUID), UUID(b.SystemUUID)):
		return "both have serial number " + a.Serial
	case a.MAC != "" && a.MAC == b.MAC:
		return "both have MAC " + a.MAC
	}
	return ""
}
