package proxmox

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// checkSpec refuses at start-up what the API server would not have taken.
func checkSpec(s *v1alpha1.Proxmox) error {
	template := s.Template != v1alpha1.ProxmoxTemplate{}
	switch {
	case s.VMIDs.Min < 100 || s.VMIDs.Max < s.VMIDs.Min:
		return fmt.Errorf("proxmox.vmids %d to %d: min must be at least 100 and not exceed max", s.VMIDs.Min, s.VMIDs.Max)
	case template == (s.Netboot != nil):
		return fmt.Errorf("proxmox: exactly one of template and netboot must be set")
	case s.Netboot != nil && len(s.Networks) == 0:
		return fmt.Errorf("proxmox.networks is required with netboot: a machine boots from its first network")
	case s.Join != nil && s.CloudInit != nil:
		return fmt.Errorf("proxmox: join and cloudInit exclude each other")
	}
	if d := s.ShutdownTimeout; d != nil && d.Duration != 0 && (d.Duration < time.Second || d.Duration > time.Hour) {
		return fmt.Errorf("proxmox.shutdownTimeout %s: must be 0s, or at least 1s and at most 1h", d.Duration)
	}
	if s.Join != nil {
		if err := checkJoin(s.Join); err != nil {
			return err
		}
	}
	return checkOptions(s.VMOptions)
}

func checkEndpoints(first string, further []string) error {
	seen := map[string]bool{strings.TrimSuffix(first, "/"): true}
	for i, endpoint := range further {
		if !strings.HasPrefix(endpoint, "https://") {
			return fmt.Errorf("proxmox.endpoints[%d] %q: must be https", i, endpoint)
		}
		key := strings.TrimSuffix(endpoint, "/")
		if seen[key] {
			return fmt.Errorf("proxmox.endpoints[%d] %q: is there twice", i, endpoint)
		}
		seen[key] = true
	}
	return nil
}

// specFor is the Provider's spec with what a pool sets of its own.
func specFor(spec *v1alpha1.Proxmox, own *v1alpha1.ProxmoxMachine) (*v1alpha1.Proxmox, error) {
	if own == nil {
		return spec, nil
	}
	s := *spec
	switch {
	case own.Template != nil:
		s.Template, s.Netboot = *own.Template, nil
	case own.Netboot != nil:
		s.Template, s.Netboot = v1alpha1.ProxmoxTemplate{}, own.Netboot
	}
	switch {
	case own.Join != nil:
		s.Join, s.CloudInit = own.Join, nil
	case own.CloudInit != nil:
		s.Join, s.CloudInit = nil, own.CloudInit
	}
	if own.Clone != "" {
		s.Clone, s.Storage = own.Clone, own.Storage
	}
	if own.Placement != nil {
		s.Placement = *own.Placement
	}
	for _, text := range []struct {
		into *string
		own  string
	}{{&s.CPUType, own.CPUType}, {&s.Description, own.Description}} {
		if text.own != "" {
			*text.into = text.own
		}
	}
	if len(own.Networks) > 0 {
		s.Networks = own.Networks
	}
	if len(own.Tags) > 0 {
		s.Tags = own.Tags
	}
	if len(own.VMOptions) > 0 {
		s.VMOptions = maps.Clone(spec.VMOptions)
		if s.VMOptions == nil {
			s.VMOptions = map[string]string{}
		}
		maps.Copy(s.VMOptions, own.VMOptions)
	}
	return &s, checkSpec(&s)
}
