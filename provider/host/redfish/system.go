package redfish

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
)

// system is what Muster reads of a ComputerSystem. Every field may be missing.
type system struct {
	Path         string `json:"@odata.id"`
	ID           text   `json:"Id"`
	UUID         text
	SerialNumber text
	Manufacturer text
	Model        text
	PowerState   text
	Actions      struct {
		Reset resetAction `json:"#ComputerSystem.Reset"`
	}
	Boot     boot
	Settings struct {
		SettingsObject link
	} `json:"@Redfish.Settings"`
	ProcessorSummary struct {
		Count, CoreCount, LogicalProcessorCount number
	}
	MemorySummary struct {
		TotalSystemMemoryGiB number
	}
	EthernetInterfaces link
	Processors         link

	etag string
}

type resetAction struct {
	Target     string   `json:"target"`
	Allowed    []string `json:"ResetType@Redfish.AllowableValues"`
	ActionInfo string   `json:"@Redfish.ActionInfo"`
}

type collection struct {
	Members []link
	Next    string `json:"Members@odata.nextLink"`
}

// maxPages bounds how long a collection may be.
const maxPages = 20

// members are the paths of a collection, sorted: BMCs give them in any order.
func (c *call) members(at string) ([]string, error) {
	var paths []string
	for range maxPages {
		var page collection
		if _, err := c.get(at, &page); err != nil {
			return nil, err
		}
		for _, m := range page.Members {
			if err := local(m.Path); err != nil {
				return nil, err
			}
			paths = append(paths, m.Path)
		}
		if at = page.Next; at == "" {
			slices.Sort(paths)
			return slices.Compact(paths), nil
		}
	}
	return nil, fmt.Errorf("the collection does not end: %w", provider.ErrUnknown)
}

func (c *call) system(at string) (*system, error) {
	var s system
	etag, err := c.get(at, &s)
	if err != nil {
		return nil, err
	}
	s.Path, s.etag = at, etag
	return &s, nil
}

// named reports whether a system is the one with this Id, UUID or serial number.
func (s *system) named(name string) bool {
	return string(s.ID) == name || path.Base(strings.TrimRight(s.Path, "/")) == name ||
		s.UUID != "" && host.SameUUID(string(s.UUID), name) || s.SerialNumber != "" && string(s.SerialNumber) == name
}

// find looks a system up by its name; without one, by the UUID; without both there must be only one.
func (c *call) find(systems, name, uuid string) (*system, error) {
	paths, err := c.members(systems)
	if err != nil {
		return nil, err
	}
	if name == "" && len(paths) != 1 {
		name = uuid
	}
	if name == "" && len(paths) != 1 {
		return nil, &provider.Error{Op: "choose the system", Kind: provider.ErrMisconfigured,
			Err: fmt.Errorf("the BMC has %d: %s", len(paths), strings.Join(paths, ", ")), Hint: "set power.system of the Host"}
	}
	var found []*system
	for _, p := range paths {
		s, err := c.system(p)
		if err != nil {
			return nil, err
		}
		if name == "" || s.named(name) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return nil, &provider.Error{Op: "choose the system", Kind: provider.ErrMisconfigured,
			Err: fmt.Errorf("%d of %d systems are called %q", len(found), len(paths), name), Hint: "see power.system of the Host"}
	}
	return found[0], nil
}

// allowed are the reset types that the BMC takes; nil when it does not say.
func (c *call) allowed(s *system) ([]string, error) {
	action := s.Actions.Reset
	if len(action.Allowed) > 0 || action.ActionInfo == "" {
		return action.Allowed, nil
	}
	var info struct {
		Parameters []struct {
			Name            text
			AllowableValues []string
		}
	}
	if _, err := c.get(action.ActionInfo, &info); err != nil {
		if statusOf(err) == http.StatusNotFound || errors.Is(err, provider.ErrUnknown) {
			return nil, nil // some do not even decode: as if it said nothing
		}
		return nil, err
	}
	for _, p := range info.Parameters {
		if p.Name == "ResetType" {
			return p.AllowableValues, nil
		}
	}
	return nil, nil
}
