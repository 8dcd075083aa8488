package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// Machine is one simulated machine.
type Machine struct {
	provider.Machine
	Request provider.Request

	runsAt, joinsAt, stopsAt, goneAt time.Time // zero: never
	joined, stopped                  bool      // stopped: at least once
}

// EventKind says what happened to a machine.
type EventKind string

// What happens to machines by itself.
const (
	Joined   EventKind = "joined"   // it booted and registers its Node now
	Returned EventKind = "returned" // it booted again after a stop; its Node should be there
	Gone     EventKind = "gone"     // its deletion is done
)

// Event is something that happened to a machine.
type Event struct {
	Kind    EventKind
	At      time.Time
	Machine Machine
}

// Cloud holds machines in memory. Time comes in with each call; it never goes back. Safe for concurrent use.
type Cloud struct {
	config Config
	poke   chan struct{}

	mu       sync.Mutex
	now      time.Time
	machines map[types.UID]*Machine
	names    map[string]types.UID
	over     map[types.UID]int32 // the last attempt that was deleted
	last     time.Time           // when a machine last registered its Node
	alarms   alarms
	events   []Event
}

// NewCloud returns a Cloud without machines. The configuration must be valid.
func NewCloud(config Config) (*Cloud, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Cloud{config: config, poke: make(chan struct{}, 1), machines: map[types.UID]*Machine{},
		names: map[string]types.UID{}, over: map[types.UID]int32{}}, nil
}

// Create is provider.Provider.Create at the given time.
func (c *Cloud) Create(r provider.Request, now time.Time) (provider.Machine, error) {
	if err := check(r); err != nil {
		return provider.Machine{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	if m := c.machines[r.ClaimUID]; m != nil {
		answer, err := again(m, r)
		if err == nil && m.State == provider.StatePending {
			c.boot(m, c.config.fate(r.ClaimUID, r.Attempt))
			answer = m.Machine
		}
		return answer, err
	}
	if over := c.over[r.ClaimUID]; r.Attempt <= over {
		return provider.Machine{}, fmt.Errorf("attempt %d of claim %s is over: %w", r.Attempt, r.Claim, provider.ErrRefused)
	}
	if _, taken := c.names[identity.MadeNodeName(r.Claim, r.ClaimUID, r.Attempt)]; taken {
		return provider.Machine{}, fmt.Errorf("name %s is taken by the machine of another claim: %w", r.Claim, provider.ErrBusy)
	}
	fate := c.config.fate(r.ClaimUID, r.Attempt)
	if most := int(c.config.MaxMachines); most > 0 && len(c.machines) >= most {
		return provider.Machine{}, fmt.Errorf("all %d machines are in use: %w", most, provider.ErrNoCapacity)
	}
	if fate.refused {
		return provider.Machine{}, fmt.Errorf("no host has room for it: %w", provider.ErrNoCapacity)
	}
	m := c.add(r, fate)
	if fate.lost {
		return provider.Machine{}, fmt.Errorf("the answer was lost: %w", provider.ErrUnknown)
	}
	return m.Machine, nil
}

// again answers a creation whose claim has a machine already.
func again(m *Machine, r provider.Request) (provider.Machine, error) {
	switch {
	case m.Claim != r.Claim:
		return provider.Machine{}, fmt.Errorf("claim UID %s belongs to claim %s, not %s: %w", r.ClaimUID, m.Claim, r.Claim, provider.ErrRefused)
	case m.Attempt > r.Attempt:
		return provider.Machine{}, fmt.Errorf("attempt %d of claim %s is over: %w", r.Attempt, r.Claim, provider.ErrRefused)
	case m.Attempt < r.Attempt, m.State == provider.StateDeleting:
		return provider.Machine{}, fmt.Errorf("machine %s of claim %s has to go first: %w", m.ID, r.Claim, provider.ErrBusy)
	}
	return m.Machine, nil
}

// check refuses what no machine can be made from.
func check(r provider.Request) error {
	switch {
	case r.Claim == "" || r.ClaimUID == "" || r.Attempt < 1:
		return fmt.Errorf("claim %q, UID %q, attempt %d: all three must be set: %w", r.Claim, r.ClaimUID, r.Attempt, provider.ErrRefused)
	case len(r.Resources) == 0:
		return fmt.Errorf("claim %s asks for no resources: %w", r.Claim, provider.ErrRefused)
	}
	for name, q := range r.Resources {
		if q.Sign() < 0 {
			return fmt.Errorf("claim %s: resource %s is negative: %w", r.Claim, name, provider.ErrRefused)
		}
	}
	return nil
}

func (c *Cloud) add(r provider.Request, f fate) *Machine {
	name := identity.MadeNodeName(r.Claim, r.ClaimUID, r.Attempt)
	r.Resources, r.Overhead = r.Resources.DeepCopy(), r.Overhead.DeepCopy()
	m := &Machine{Request: r, Machine: provider.Machine{
		ID: provider.ID(name), Claim: r.Claim, ClaimUID: r.ClaimUID, Attempt: r.Attempt, Cluster: r.Cluster, State: provider.StateCreating,
		ProviderID: fmt.Sprintf("sim://%s/%s", name, r.ClaimUID), SystemUUID: string(r.ClaimUID), NodeName: name,
		Identity: v1alpha1.MachineIdentity{ID: name, SystemUUID: string(r.ClaimUID)}, Host: "sim", Created: c.now,
	}}
	c.machines[r.ClaimUID] = m
	c.names[name] = r.ClaimUID
	c.boot(m, f)
	return m
}

// boot begins the time until a machine runs and registers its Node.
func (c *Cloud) boot(m *Machine, f fate) {
	m.State, m.joined, m.stopsAt = provider.StateCreating, false, time.Time{}
	m.runsAt = c.now.Add(f.boot / 4)
	c.alarms.set(m.runsAt, m.ClaimUID)
	if !f.neverJoins {
		m.joinsAt = c.now.Add(f.boot)
		c.alarms.set(m.joinsAt, m.ClaimUID)
	}
	c.changed()
}

// Get is provider.Provider.Get at the given time.
func (c *Cloud) Get(claim types.UID, now time.Time) (provider.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	if m := c.machines[claim]; m != nil {
		return m.Machine, nil
	}
	return provider.Machine{}, fmt.Errorf("claim UID %s: %w", claim, provider.ErrNotFound)
}

// List returns every machine, by name.
func (c *Cloud) List(now time.Time) []provider.Machine {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	list := make([]provider.Machine, 0, len(c.machines))
	for _, m := range c.machines {
		list = append(list, m.Machine)
	}
	slices.SortFunc(list, func(a, b provider.Machine) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return list
}

// Delete is provider.Provider.Delete at the given time. May is asked about the machine before anything is done; nil is for the server, which
// cannot judge a proof: its client did.
func (c *Cloud) Delete(d provider.Machine, now time.Time, may func(provider.Machine) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	m, err := c.owned(d)
	if err != nil {
		return err
	}
	if m.State != provider.StateDeleting {
		if err := permitted(may, m); err != nil {
			return err
		}
		m.State, m.goneAt = provider.StateDeleting, c.now.Add(c.config.DeleteTime)
		c.alarms.set(m.goneAt, m.ClaimUID)
		c.changed()
	}
	return nil
}

func permitted(may func(provider.Machine) error, m *Machine) error {
	if may == nil {
		return nil
	}
	return may(m.Machine)
}

// Stop is provider.Provider.Stop at the given time; it takes as long as a deletion. May as for Delete.
func (c *Cloud) Stop(d provider.Machine, now time.Time, may func(provider.Machine) error) (provider.Machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(now)
	m, err := c.owned(d)
	switch {
	case err != nil:
		return provider.Machine{}, err
	case m.State == provider.StatePending, !m.stopsAt.IsZero():
		return m.Machine, nil
	case m.State != provider.StateRunning:
		return provider.Machine{}, fmt.Errorf("machine %s is %s: %w", m.ID, m.State, provider.ErrBusy)
	}
	if err := permitted(may, m); err != nil {
		return provider.Machine{}, err
	}
	m.State, m.stopped, m.runsAt, m.joinsAt = provider.StateCreating, true, time.Time{}, time.Time{}
	m.stopsAt = c.now.Add(c.config.DeleteTime)
	c.alarms.set(m.stopsAt, m.ClaimUID)
	c.changed()
	return m.Machine, nil
}

// owned returns the machine if it is that one in all that is said of it.
func (c *Cloud) owned(d provider.Machine) (*Machine, error) {
	if d.ClaimUID == "" {
		return nil, fmt.Errorf("machine %s: no claim UID: %w", d.ID, provider.ErrRefused)
	}
	m := c.machines[d.ClaimUID]
	if m == nil {
		if owner, taken := c.names[string(d.ID)]; taken {
			return nil, fmt.Errorf("machine %s belongs to claim UID %s, not %q: %w", d.ID, owner, d.ClaimUID, provider.ErrRefused)
		}
		return nil, fmt.Errorf("machine %s: %w", d.ID, provider.ErrNotFound)
	}
	if d.ID != m.ID || d.Claim != "" && d.Claim != m.Claim {
		return nil, fmt.Errorf("the machine of claim UID %s is %s of claim %s, not %s of claim %s: %w", d.ClaimUID, m.ID, m.Claim,
			d.ID, d.Claim, provider.ErrRefused)
	}
	return m, nil
}
