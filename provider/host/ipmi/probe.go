package ipmi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/muster-sh/muster/provider/host"
	"github.com/muster-sh/muster/provider/identity"
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
func (s *BMC) Probe(ctx context.Context) (Inventory, error) {
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
		uuids, err := guid(ctx, c)
		if err != nil {
			return err
		}
		out = Inventory{Manufacturer: device.ManufacturerID, Product: device.ProductID, Power: powerOf(status.PowerIsOn),
			Firmware: fmt.Sprintf("%d.%02d", device.MajorFirmwareRevision, device.MinorFirmwareRevision), UUIDs: uuids}
		return nil
	})
	return out, err
}

// guid asks for the system's GUID. A BMC that says that it has none is none the worse; one that does not answer has said nothing.
func guid(ctx context.Context, c *client.Client) ([]string, error) {
	r, err := c.GetSystemGUID(ctx)
	if err != nil {
		return nil, unlessTold(err)
	}
	uuids := Spellings(r.GUID)
	if slices.ContainsFunc(uuids, identity.Factory) {
		return nil, nil
	}
	return uuids, nil
}

// unlessTold is nil for what the BMC itself answered: that it does not have it.
func unlessTold(err error) error {
	if _, told := types.IsResponseError(err); told {
		return nil
	}
	return err
}

// boardFRU is the inventory of the machine itself.
const boardFRU = 0

// serial asks for the serial number of the board, or of the product, in the BMC's inventory (FRU 0). It takes a dozen requests, so it
// is asked for only where there is no GUID. What an inventory lacks, or what cannot be read of it, is no error: BMCs have broken ones.
func serial(ctx context.Context, c *client.Client) (string, error) {
	r, err := c.ReadFRUData(ctx, boardFRU, 0, types.FRUCommonHeaderSize)
	if err != nil {
		return "", unlessTold(err)
	}
	var header types.FRUCommonHeader
	if err := header.Unpack(r.Data); err != nil || header.FormatVersion != types.FRUFormatVersion {
		return "", nil //nolint:nilerr // see above
	}
	if at := uint16(header.BoardOffset8B) * 8; at > 0 {
		if board, err := c.GetFRUAreaBoard(ctx, boardFRU, at); err == nil {
			if number := identity.Serial(fruText(board.SerialNumberTypeLength, board.SerialNumber)); number != "" {
				return number, nil
			}
		}
	}
	if at := uint16(header.ProductOffset8B) * 8; at > 0 {
		if product, err := c.GetFRUAreaProduct(ctx, boardFRU, at); err == nil {
			return identity.Serial(fruText(product.SerialNumberTypeLength, product.SerialNumber)), nil
		}
	}
	return "", ctx.Err()
}

func fruText(kind types.TypeLength, raw []byte) string {
	return strings.Trim(types.FRUFieldString(kind, raw), " \x00\t\r\n")
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
	return []string{identity.Swapped(asIs), asIs, written(reversed)}
}

func written(b [16]byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
