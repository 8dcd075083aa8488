package host

import (
	"strings"

	"github.com/muster-sh/muster/provider/identity"
)

// SameUUID compares two UUIDs as SMBIOS may spell one: in any case, and with the first three groups in either byte order
// (the order changed with SMBIOS 2.6; BMCs and kernels do not always agree on it).
func SameUUID(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(a, identity.Swapped(b))
}
