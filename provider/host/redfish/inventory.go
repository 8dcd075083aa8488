package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/host"
)

// System is what a BMC tells of one system.
type System struct {
	ID, UUID, SerialNumber, Manufacturer, Model string
	Power                                       host.Power
	// CPUs counts threads, MemoryGiB is the installed memory.
	CPUs      int
	MemoryGiB float64
	MACs      []string
	// GPUs are accelerators by what they are called.
	GPUs []string
	// Resets and Boots are what the BMC allows.
	Resets, Boots []string
}

// Inventory is what a BMC tells of itself.
type Inventory struct {
	Vendor, Product string
	Systems         []System
}

// Probe reads a BMC and changes nothing.
func (b *BMC) Probe(ctx context.Context) (Inventory, error) {
	var out Inventory
	err := b.do(ctx, func(c *call) error {
		out = Inventory{Vendor: string(b.root.Vendor), Product: string(b.root.Product)}
		paths, err := c.members(b.root.Systems.Path)
		if err != nil {
			return err
		}
		for _, at := range paths {
			s, err := c.system(at)
			if err != nil {
				return err
			}
			full, err := c.probe(s)
			if err != nil {
				return err
			}
			out.Systems = append(out.Systems, full)
		}
		return nil
	})
	return out, err
}

func (c *call) probe(s *system) (System, error) {
	out := summary(s)
	allowed, err := c.allowed(s)
	if err != nil {
		return out, err
	}
	out.Resets = allowed
	c.each(s.EthernetInterfaces.Path, func(at string) {
		var nic struct{ MACAddress, PermanentMACAddress text }
		if _, err := c.get(at, &nic); err != nil {
			return
		}
		if mac := string(nic.MACAddress); mac != "" {
			out.MACs = append(out.MACs, mac)
		} else if mac := string(nic.PermanentMACAddress); mac != "" {
			out.MACs = append(out.MACs, mac)
		}
	})
	c.each(s.Processors.Path, func(at string) {
		var p struct{ ProcessorType, Manufacturer, Model text }
		if _, err := c.get(at, &p); err == nil && p.ProcessorType == "GPU" {
			out.GPUs = append(out.GPUs, fmt.Sprintf("%s %s", p.Manufacturer, p.Model))
		}
	})
	slices.Sort(out.MACs)
	out.MACs = slices.Compact(out.MACs)
	return out, nil
}

// each visits the members of a collection; one that is missing has none, since BMCs leave out what they cannot tell.
func (c *call) each(at string, visit func(string)) {
	if at == "" {
		return
	}
	paths, err := c.members(at)
	if err != nil {
		return
	}
	for _, p := range paths {
		visit(p)
	}
}

func summary(s *system) System {
	out := System{ID: string(s.ID), UUID: string(s.UUID), SerialNumber: string(s.SerialNumber), Manufacturer: string(s.Manufacturer),
		Model: string(s.Model), Power: powerOf(s), MemoryGiB: float64(s.MemorySummary.TotalSystemMemoryGiB),
		Resets: s.Actions.Reset.Allowed, Boots: s.Boot.Allowed}
	p := s.ProcessorSummary
	switch {
	case p.LogicalProcessorCount > 0:
		out.CPUs = int(p.LogicalProcessorCount)
	case p.CoreCount > 0:
		out.CPUs = int(p.CoreCount)
	}
	return out
}

// Summarize reads one ComputerSystem resource.
func Summarize(resource []byte) (System, error) {
	var s system
	if err := json.Unmarshal(resource, &s); err != nil {
		return System{}, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	return summary(&s), nil
}
