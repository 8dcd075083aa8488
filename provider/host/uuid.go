package host

import "strings"

// SameUUID compares two UUIDs as SMBIOS may spell one: in any case, and with the first three groups in either byte order
// (the order changed with SMBIOS 2.6; BMCs and kernels do not always agree on it).
func SameUUID(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(a, Swapped(b))
}

// Swapped is a UUID with its first three groups in the other byte order; what is no UUID is returned as it is.
func Swapped(uuid string) string {
	groups := strings.Split(uuid, "-")
	if len(groups) != 5 {
		return uuid
	}
	for i, group := range groups[:3] {
		var turned strings.Builder
		for at := len(group) - 2; at >= 0; at -= 2 {
			turned.WriteString(group[at : at+2])
		}
		groups[i] = turned.String()
	}
	return strings.Join(groups, "-")
}
