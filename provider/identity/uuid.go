// Package identity says which machine is which: what of a recorded identity a reading confirms or contradicts, which UUIDs tell
// machines apart, and which NodeClaim, machine and Node belong together. Lifecycle, filter, learning, garbage collection and the
// gate all ask here. It reads no clock, client or log.
package identity

import "strings"

// UUID is the form in which SMBIOS system UUIDs are compared: lower case, and of the two byte orders of the first three groups the
// smaller one, since BMCs and kernels do not agree on that order (it changed with SMBIOS 2.6). It is empty for a UUID that tells no
// machine from another: one that a factory left on every board. What is no UUID is returned in lower case.
func UUID(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if Factory(s) {
		return ""
	}
	return min(s, Swapped(s))
}

// Swapped is a UUID with its first three groups in the other byte order; what is no UUID is returned as it is.
func Swapped(uuid string) string {
	groups := strings.Split(uuid, "-")
	if len(uuid) != 36 || len(groups) != 5 || len(groups[0]) != 8 || len(groups[1]) != 4 || len(groups[2]) != 4 {
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

// factory are UUIDs that firmware is known to ship with on many boards, as the boards and their kernels print them. Both byte orders
// count. Sources: the defaults of AMI's and Insyde's reference firmware, and of Dell boards without a service tag, as users report
// them in the issues of systemd (machine-id from DMI), MAAS and Kubernetes.
var factory = []string{
	"03000200-0400-0500-0006-000700080009",
	"12345678-1234-5678-90ab-cddeefaabbcc",
	"00112233-4455-6677-8899-aabbccddeeff",
	"11111111-2222-3333-4444-555555555555",
	"01234567-89ab-cdef-0123-456789abcdef",
	"4c4c4544-0000-2010-8020-80c04f202020",
	"ef1a2ba0-f1a4-11e0-90de-806e6f6e6963",
}

// Factory reports whether a UUID is one that a factory left on many boards, or the empty, all-zero or otherwise uniform one.
// SMBIOS itself calls all zero "not present" and all ones "not set" (DSP0134, 7.2.1).
func Factory(uuid string) bool {
	digits := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(uuid)), "-", "")
	if digits == "" || strings.Count(digits, digits[:1]) == len(digits) {
		return len(digits) == 0 || len(digits) == 32
	}
	if len(digits) == 32 && strings.Count(digits, digits[:2])*2 == len(digits) {
		return true // one byte over and over
	}
	for _, known := range factory {
		if strings.EqualFold(uuid, known) || strings.EqualFold(uuid, Swapped(known)) {
			return true
		}
	}
	return false
}
