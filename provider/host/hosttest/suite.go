package hosttest

import (
	"testing"
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/providertest"
)

// SuiteHosts is how many hosts the suite of all providers needs, WireHosts how many its cases of the wire.
const (
	SuiteHosts = 24
	WireHosts  = 2
)

// Machines are the machines behind the switches: what is on, and how somebody else switches one on.
type Machines interface {
	IsOn(host string) bool
	SwitchOn(host string)
}

// Backend is the backend of a Rack for the suite of all providers. Object makes the Host of a machine that the suite puts
// in by its name.
//
// What the provider is given is not what the suite looks at: a rack that is OverTheWire is counted from behind.
func Backend(t *testing.T, r *Rack, machines Machines, object func(name string) *v1alpha1.Host) providertest.Backend {
	return providertest.Backend{
		Provider: r.Provider,
		Now:      r.Now,
		NoObject: provider.ErrUnknown,
		Advance:  func(d time.Duration) { r.Advance(t, d) },
		Count:    func() int { return count(t, r, machines) },
		Foreign: map[string]func() (provider.ID, func() bool){
			"a host that somebody switched on": func() (provider.ID, func() bool) {
				return foreign(t, r, machines, object("somebody-elses"))
			},
		},
	}
}

// foreign puts in a host that is on without a claim.
func foreign(t *testing.T, r *Rack, machines Machines, h *v1alpha1.Host) (provider.ID, func() bool) {
	r.Objects.Put(h)
	machines.SwitchOn(h.Name)
	r.Advance(t, 0)
	return provider.ID(h.Name), func() bool {
		return machines.IsOn(h.Name) && r.Objects.Get(h.Name).Status.Claim == nil
	}
}

// count is how many hosts are claimed or on.
func count(t *testing.T, r *Rack, machines Machines) int {
	all, err := r.Objects.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, h := range all {
		if h.Status.Claim != nil || machines.IsOn(h.Name) {
			n++
		}
	}
	return n
}

// Lamps are Lamps by host name.
type Lamps map[string]*Lamp

// IsOn says whether a host's lamp is on.
func (l Lamps) IsOn(name string) bool { return l[name].IsOn() }

// SwitchOn switches it on by hand.
func (l Lamps) SwitchOn(name string) { l[name].Set(true) }

var _ Machines = Lamps{}
