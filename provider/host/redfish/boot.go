package redfish

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/stmcginnis/gofish/schemas"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// boot is the override of the boot device.
type boot struct {
	Target  text     `json:"BootSourceOverrideTarget"`
	Enabled text     `json:"BootSourceOverrideEnabled"`
	Mode    text     `json:"BootSourceOverrideMode"`
	Allowed []string `json:"BootSourceOverrideTarget@Redfish.AllowableValues"`
}

// override is what is sent of it; the fewer fields, the fewer BMCs that refuse one.
type override struct {
	Target  string `json:"BootSourceOverrideTarget"`
	Enabled string `json:"BootSourceOverrideEnabled"`
	Mode    string `json:"BootSourceOverrideMode,omitempty"`
}

var targets = map[v1alpha1.BootDevice]schemas.BootSource{
	v1alpha1.BootPXE: schemas.PxeBootSource, v1alpha1.BootDisk: schemas.HddBootSource, v1alpha1.BootUEFIHTTP: schemas.UefiHTTPBootSource,
}

// setBoot sets the device for the next boot, by the system, or by its settings resource where the BMC has the override
// there. It counts when it reads back; that it reads Continuous instead of Once is left to the BMC.
func (c *call) setBoot(s *system, device v1alpha1.BootDevice) error {
	target := string(targets[device])
	if len(s.Boot.Allowed) > 0 && !slices.Contains(s.Boot.Allowed, target) {
		return &provider.Error{Op: "set the boot device", Kind: provider.ErrRefused,
			Err: fmt.Errorf("system %s boots from %v and not from %s", s.ID, s.Boot.Allowed, target), Hint: "see power.boot of the Host"}
	}
	if taken(s.Boot, target) {
		return nil
	}
	if err := c.patchBoot(s, target); err != nil {
		return fmt.Errorf("set the boot device: %w", err)
	}
	now, err := c.system(s.Path)
	if err != nil {
		return err
	}
	if !taken(now.Boot, target) && !c.takenInSettings(now, target) {
		return fmt.Errorf("the boot device reads %s/%s after it was set to %s: %w", now.Boot.Target, now.Boot.Enabled, target, provider.ErrBusy)
	}
	s.etag = now.etag
	return nil
}

func taken(b boot, target string) bool {
	return string(b.Target) == target && (b.Enabled == "Once" || b.Enabled == "Continuous")
}

func (c *call) takenInSettings(s *system, target string) bool {
	at := s.Settings.SettingsObject.Path
	if at == "" {
		return false
	}
	settings, err := c.system(at)
	return err == nil && taken(settings.Boot, target)
}

// patchBoot tries what BMCs are known to want, one after the other, and returns the first error when none does it.
func (c *call) patchBoot(s *system, target string) error {
	plain := override{Target: target, Enabled: "Once"}
	full := plain
	if target == string(schemas.UefiHTTPBootSource) {
		full.Mode = "UEFI"
	}
	first := c.patch(s.Path, full, "")
	if first == nil {
		return nil
	}
	if full != plain && c.patch(s.Path, plain, "") == nil {
		return nil
	}
	if s.etag != "" && c.patch(s.Path, full, s.etag) == nil {
		return nil
	}
	if at := s.Settings.SettingsObject.Path; at != "" {
		if settings, err := c.system(at); err == nil && c.patch(at, full, settings.etag) == nil {
			return nil
		}
	}
	return first
}

func (c *call) patch(at string, o override, etag string) error {
	return c.send(http.MethodPatch, at, map[string]override{"Boot": o}, etag)
}
