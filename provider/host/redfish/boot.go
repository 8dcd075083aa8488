package redfish

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

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
	Target  string `json:"BootSourceOverrideTarget,omitempty"`
	Enabled string `json:"BootSourceOverrideEnabled,omitempty"`
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

// clearBoot ends an override that did not end with the boot it was for: some BMCs keep Once for good, or make Continuous of
// it, and the next reboot would install the host again. It counts when it reads back.
func (c *call) clearBoot(s *system) error {
	if !c.overridden(s) {
		return nil
	}
	var first error
	for _, o := range clearings {
		if err := c.patchAll(s, o); err != nil {
			if first == nil {
				first = fmt.Errorf("clear the boot device: %w", err)
			}
			if status := statusOf(err); status != http.StatusBadRequest && status != http.StatusPreconditionRequired {
				return first // not for its form
			}
			continue
		}
		now, err := c.system(s.Path)
		if err != nil {
			return err
		}
		if !c.overridden(now) {
			return nil
		}
		s.etag = now.etag
		first = fmt.Errorf("the boot device reads %s/%s after it was cleared: %w", now.Boot.Target, now.Boot.Enabled, provider.ErrBusy)
	}
	return first
}

// clearings are the ways to end an override: BMCs are known that take None as no target, and that have Disabled follow from it.
var clearings = []override{
	{Target: string(schemas.NoneBootSource), Enabled: string(schemas.DisabledBootSourceOverrideEnabled)},
	{Enabled: string(schemas.DisabledBootSourceOverrideEnabled)},
	{Target: string(schemas.NoneBootSource)},
}

func (c *call) overridden(s *system) bool {
	if held(s.Boot) {
		return true
	}
	at := s.Settings.SettingsObject.Path
	if at == "" {
		return false
	}
	settings, err := c.system(at)
	return err == nil && held(settings.Boot)
}

func held(b boot) bool {
	return b.Target != "" && b.Target != "None" && (b.Enabled == "Once" || b.Enabled == "Continuous")
}

// patchBoot has the system boot from a target once.
func (c *call) patchBoot(s *system, target string) error {
	plain := override{Target: target, Enabled: "Once"}
	if target != string(schemas.UefiHTTPBootSource) {
		return c.patchAll(s, plain)
	}
	full := plain
	full.Mode = "UEFI"
	first := c.patchAll(s, full)
	if first == nil || c.patchAll(s, plain) == nil {
		return nil
	}
	return first
}

// patchAll tries what BMCs are known to want, one after the other, and returns the first error when none does it.
func (c *call) patchAll(s *system, o override) error {
	first := c.patch(s.Path, o, "")
	if first == nil || c.patchTagged(s.Path, o, s.etag) {
		return nil
	}
	if at := s.Settings.SettingsObject.Path; at != "" {
		if settings, err := c.system(at); err == nil && (c.patchTagged(at, o, settings.etag) || c.patch(at, o, "") == nil) {
			return nil
		}
	}
	return first
}

func (c *call) patchTagged(at string, o override, etag string) bool {
	for _, tag := range tags(etag) {
		if c.patch(at, o, tag) == nil {
			return true
		}
	}
	return false
}

func (c *call) patch(at string, o override, etag string) error {
	_, err := c.send(http.MethodPatch, at, map[string]override{"Boot": o}, etag)
	return err
}

// tags are the ways to say an ETag in If-Match: as it was told; as a strong one, which alone may be compared there (RFC 9110,
// 13.1.1); without what a compressing proxy in the BMC adds to it.
func tags(etag string) []string {
	var all []string
	for _, tag := range []string{etag, strings.TrimPrefix(etag, "W/")} {
		for _, suffix := range []string{"", "-gzip", ";gzip"} {
			cut := strings.Replace(tag, suffix+`"`, `"`, 1)
			if cut != "" && !slices.Contains(all, cut) {
				all = append(all, cut)
			}
		}
	}
	return all
}
