package ipmi

import (
	"context"
	"fmt"
	"slices"

	"github.com/bougou/go-ipmi/pkg/client"

	"github.com/muster-sh/muster/provider/host"
)

// Inventory is what a BMC tells of itself and its system.
type Inventory struct {
	// Manufacturer is the number that IANA gave the maker, Product the maker's own number for the BMC.
	Manufacturer uint32
	Product      uint16
	Firmware     string
	Power        host.Power
	// UUIDs are what the system's UUID may be; nobody knows which. Empty where the BMC does not tell a GUID.
	UUIDs []string
}

// Probe reads a BMC and changes nothing.
func (s *Switch) Probe(ctx context.Context) (Inventory, error) {
	var out Inventory
	err := s.do(ctx, func(c *client.Client) error {
		device, err := c.GetDeviceID(ctx)
		if err != nil {
			return err
		}
		status, err := c.GetChassisStatus(ctx)
		if err != nil {
			return err
		}
		out = Inventory{Manufacturer: device.ManufacturerID, Product: device.ProductID, Power: powerOf(status.PowerIsOn),
			Firmware: fmt.Sprintf("%d.%02d", device.MajorFirmwareRevision, device.MinorFirmwareRevision), UUIDs: guid(ctx, c)}
		return nil
	})
	return out, err
}

// guid asks for the system's GUID. It is a hint: a BMC that does not tell it is none the worse.
func guid(ctx context.Context, c *client.Client) []string {
	r, err := c.GetSystemGUID(ctx)
	if err != nil {
		return nil
	}
	return Spellings(r.GUID)
}

// Spellings are the UUIDs that a GUID on the wire may stand for. IPMI 2.0 (20.8) sends the last byte first; much firmware
// sends it as SMBIOS keeps it, with the first three groups turned, or as it is written. In this order: SMBIOS, as written,
// IPMI. An empty one is none.
func Spellings(raw [16]byte) []string {
	if raw == [16]byte{} {
		return nil
	}
	reversed := raw
	slices.Reverse(reversed[:])
	asIs := written(raw)
	return []string{host.Swapped(asIs), asIs, written(reversed)}
}

func written(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
