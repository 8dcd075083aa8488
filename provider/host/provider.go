package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// Provider is the verbs over the hosts of one Provider object. It reads and writes Host objects only; the Keeper
// does what they say.
type Provider struct {
	name     string
	objects  Objects
	switches Switches
	now      func() time.Time

	claiming sync.Mutex // two creations must not see the same host free
}

var _ provider.Provider = (*Provider)(nil)

// NewProvider returns the verbs over the hosts whose spec.provider is this name. The switches are for Check.
func NewProvider(name string, objects Objects, switches Switches, now func() time.Time) *Provider {
	return &Provider{name: name, objects: objects, switches: switches, now: now}
}

// claimTries is how often another host is looked for when somebody else was quicker.
const claimTries = 5

// Create claims a host for a request.
func (p *Provider) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	p.claiming.Lock()
	defer p.claiming.Unlock()
	for range claimTries {
		hosts, err := p.hosts(ctx)
		if err != nil {
			return provider.Machine{}, fmt.Errorf("create %s: %w", r.Claim, err)
		}
		if h := claimedBy(hosts, r.ClaimUID); h != nil {
			m, err := again(h, r)
			if err != nil || h.Status.State != v1alpha1.HostStopped {
				return m, err
			}
			if m, err = p.enter(ctx, h, v1alpha1.HostPoweringOn, "to be started again"); errors.Is(err, ErrConflict) {
				continue
			}
			return m, err
		}
		if over := slices.IndexFunc(hosts, func(h *v1alpha1.Host) bool { return served(h, r.ClaimUID) && h.Status.Released.Attempt >= r.Attempt }); over >= 0 {
			return provider.Machine{}, fmt.Errorf("create %s: attempt %d is over: %w", r.Claim, r.Attempt, provider.ErrRefused)
		}
		h, why, err := Choose(r, hosts)
		if err != nil {
			return provider.Machine{}, &provider.Error{Op: "create " + r.Claim, Kind: provider.ErrMisconfigured, Err: err, Hint: "see template.hosts of the pool"}
		}
		if h == nil {
			return provider.Machine{}, fmt.Errorf("create %s: %s: %w", r.Claim, why, provider.ErrNoCapacity)
		}
		chosen := h.Name
		if h, err = p.hold(ctx, h); err == nil {
			h, err = p.write(ctx, claim(h, r, p.now()))
		}
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return provider.Machine{}, fmt.Errorf("create %s: claim host %s: %w", r.Claim, chosen, err)
		}
		return machineOf(h), nil
	}
	return provider.Machine{}, fmt.Errorf("create %s: the hosts keep changing: %w", r.Claim, provider.ErrBusy)
}

// hold puts Muster's finalizer on a host that is about to be claimed: from then on its object cannot vanish. A crash before the claim
// leaves a finalizer that the Keeper takes off.
func (p *Provider) hold(ctx context.Context, h *v1alpha1.Host) (*v1alpha1.Host, error) {
	if slices.Contains(h.Finalizers, v1alpha1.HostFinalizer) {
		return h, nil
	}
	held, err := p.objects.SetFinalizers(ctx, h, append(slices.Clone(h.Finalizers), v1alpha1.HostFinalizer))
	if err != nil && !errors.Is(err, ErrConflict) {
		return nil, fmt.Errorf("put the finalizer on it: %w: %w", provider.ErrUnknown, err)
	}
	return held, err
}

// claim is the host with the intent to power it on for this request.
func claim(h *v1alpha1.Host, r provider.Request, now time.Time) *v1alpha1.Host {
	h = h.DeepCopy()
	st := &h.Status
	st.Claim = &v1alpha1.HostClaim{Name: r.Claim, UID: r.ClaimUID, Attempt: r.Attempt, Cluster: r.Cluster, Pool: r.Pool, At: *micro(now)}
	st.SwitchedOn, st.Served, st.Fault, st.LastError = false, false, "", ""
	enter(h, v1alpha1.HostPoweringOn, "claimed by "+r.Claim, now)
	return h
}

// again answers a creation whose claim has a host already.
func again(h *v1alpha1.Host, r provider.Request) (provider.Machine, error) {
	c := h.Status.Claim
	switch {
	case c.Name != r.Claim:
		return provider.Machine{}, fmt.Errorf("create %s: claim UID %s belongs to claim %s: %w", r.Claim, r.ClaimUID, c.Name, provider.ErrRefused)
	case c.Attempt > r.Attempt:
		return provider.Machine{}, fmt.Errorf("create %s: attempt %d is over: %w", r.Claim, r.Attempt, provider.ErrRefused)
	case c.Attempt < r.Attempt || h.Status.State == v1alpha1.HostPoweringOff:
		return provider.Machine{}, fmt.Errorf("create %s: host %s has to be off first: %w", r.Claim, h.Name, provider.ErrBusy)
	}
	return machineOf(h), nil
}

// Get returns the host of a claim.
func (p *Provider) Get(ctx context.Context, m provider.Machine) (provider.Machine, error) {
	hosts, err := p.hosts(ctx)
	if err != nil {
		return provider.Machine{}, fmt.Errorf("get %s: %w", m.ClaimUID, err)
	}
	h := claimedBy(hosts, m.ClaimUID)
	if h == nil {
		return provider.Machine{}, fmt.Errorf("get %s: no host has this claim: %w", m.ClaimUID, provider.ErrNotFound)
	}
	return machineOf(h), nil
}

// List returns every host that has a claim.
func (p *Provider) List(ctx context.Context) ([]provider.Machine, error) {
	hosts, err := p.hosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	machines := []provider.Machine{}
	for _, h := range hosts {
		if h.Status.Claim != nil && claimedBy(hosts, h.Status.Claim.UID) == h {
			machines = append(machines, machineOf(h))
		}
	}
	return machines, nil
}

// Delete gives a host back; it is gone when it was seen off.
func (p *Provider) Delete(ctx context.Context, m provider.Machine, proof gate.Proof) error {
	for range claimTries {
		hosts, err := p.hosts(ctx)
		if err != nil {
			return fmt.Errorf("delete %s: %w", m.ID, err)
		}
		h, err := owned(hosts, m)
		if err != nil {
			return fmt.Errorf("delete %s: %w", m.ID, err)
		}
		if h.Status.State == v1alpha1.HostPoweringOff {
			return nil
		}
		if err := provider.Spend(proof, gate.Delete, m, machineOf(h).Identity, p.now()); err != nil {
			return fmt.Errorf("delete %s: %w", m.ID, err)
		}
		h = h.DeepCopy()
		giveBack(h, p.now())
		if _, err = p.write(ctx, h); !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("delete %s: the host keeps changing: %w", m.ID, provider.ErrBusy)
}

// Stop has a host that serves a claim powered off; it stays the claim's.
func (p *Provider) Stop(ctx context.Context, m provider.Machine, proof gate.Proof) (provider.Machine, error) {
	for range claimTries {
		hosts, err := p.hosts(ctx)
		if err != nil {
			return provider.Machine{}, fmt.Errorf("stop %s: %w", m.ID, err)
		}
		h, err := owned(hosts, m)
		if err != nil {
			return provider.Machine{}, fmt.Errorf("stop %s: %w", m.ID, err)
		}
		if h.Spec.Power.Interface == v1alpha1.PowerWoL {
			return provider.Machine{}, fmt.Errorf("stop %s: nobody but its own kubelet can switch it off: %w", m.ID, provider.ErrRefused)
		}
		switch h.Status.State {
		case v1alpha1.HostStopping, v1alpha1.HostStopped, v1alpha1.HostError:
			return machineOf(h), nil
		case v1alpha1.HostPoweringOn, v1alpha1.HostPoweringOff:
			return provider.Machine{}, fmt.Errorf("stop %s: it is %s: %w", m.ID, h.Status.State, provider.ErrBusy)
		}
		if err := provider.Spend(proof, gate.Stop, m, machineOf(h).Identity, p.now()); err != nil {
			return provider.Machine{}, fmt.Errorf("stop %s: %w", m.ID, err)
		}
		stopping, err := p.enter(ctx, h, v1alpha1.HostStopping, "to be off for a restart")
		if !errors.Is(err, ErrConflict) {
			return stopping, err
		}
	}
	return provider.Machine{}, fmt.Errorf("stop %s: the host keeps changing: %w", m.ID, provider.ErrBusy)
}

// enter writes the state that a verb takes a host to.
func (p *Provider) enter(ctx context.Context, h *v1alpha1.Host, to v1alpha1.HostState, message string) (provider.Machine, error) {
	h = h.DeepCopy()
	enter(h, to, message, p.now())
	written, err := p.write(ctx, h)
	if err != nil {
		return provider.Machine{}, err
	}
	return machineOf(written), nil
}

// owned returns the host of a machine if it is that machine's in name and claim.
func owned(hosts []*v1alpha1.Host, m provider.Machine) (*v1alpha1.Host, error) {
	if m.ClaimUID == "" {
		return nil, fmt.Errorf("no claim UID: %w", provider.ErrRefused)
	}
	if h := claimedBy(hosts, m.ClaimUID); h != nil {
		if h.Name != string(m.ID) {
			return nil, fmt.Errorf("claim UID %s has host %s: %w", m.ClaimUID, h.Name, provider.ErrRefused)
		}
		return h, nil
	}
	i := slices.IndexFunc(hosts, func(h *v1alpha1.Host) bool { return h.Name == string(m.ID) })
	if i >= 0 && !served(hosts[i], m.ClaimUID) {
		return nil, fmt.Errorf("host %s is not of claim UID %s: %w", m.ID, m.ClaimUID, provider.ErrRefused)
	}
	return nil, fmt.Errorf("no host has claim UID %s: %w", m.ClaimUID, provider.ErrNotFound)
}

// hosts returns the hosts of this provider by name, from a complete list.
func (p *Provider) hosts(ctx context.Context) ([]*v1alpha1.Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	all, err := p.objects.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list hosts: %w: %w", provider.ErrUnknown, err)
	}
	return of(p.name, all), nil
}

// of returns the hosts of one provider, sorted by name.
func of(name string, all []*v1alpha1.Host) []*v1alpha1.Host {
	hosts := make([]*v1alpha1.Host, 0, len(all))
	for _, h := range all {
		if h.Spec.Provider == name {
			hosts = append(hosts, h)
		}
	}
	slices.SortFunc(hosts, func(a, b *v1alpha1.Host) int { return strings.Compare(a.Name, b.Name) })
	return hosts
}

// write commits a status; an error that is no conflict leaves open whether it was.
func (p *Provider) write(ctx context.Context, h *v1alpha1.Host) (*v1alpha1.Host, error) {
	written, err := p.objects.UpdateStatus(ctx, h)
	if err != nil && !errors.Is(err, ErrConflict) {
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	return written, err
}

// claimedBy returns the host of a claim. Should two have it, it is the one that was claimed first, then by name: the
// Keeper gives the other one back.
func claimedBy(hosts []*v1alpha1.Host, uid types.UID) *v1alpha1.Host {
	var first *v1alpha1.Host
	for _, h := range hosts {
		c := h.Status.Claim
		if c == nil || c.UID != uid {
			continue
		}
		if first == nil || c.At.Before(&first.Status.Claim.At) {
			first = h
		}
	}
	return first
}

// served says that the last claim a host was released from is this one.
func served(h *v1alpha1.Host, uid types.UID) bool {
	return h.Status.Released != nil && h.Status.Released.UID == uid
}

// identityOf is what a host was when its interface was first asked; its object is part of it.
func identityOf(h *v1alpha1.Host) v1alpha1.MachineIdentity {
	id := v1alpha1.MachineIdentity{}
	if h.Status.Identity != nil {
		id = *h.Status.Identity
	}
	id.ID, id.Name = string(h.UID), h.Name
	return id
}

// machineOf is what a claimed host is to its claim.
func machineOf(h *v1alpha1.Host) provider.Machine {
	c := h.Status.Claim
	m := provider.Machine{
		ID: provider.ID(h.Name), Claim: c.Name, ClaimUID: c.UID, Attempt: c.Attempt, Cluster: c.Cluster, State: provider.StateRunning,
		Identity: identityOf(h), NeverStarted: !h.Status.SwitchedOn,
		On:         Power(h.Status.Power) == On || Power(h.Status.Power) == PoweringOn,
		ProviderID: h.Spec.ProviderID, SystemUUID: h.Spec.SystemUUID, Host: h.Name, Rack: h.Spec.Rack,
		Zone: cmp.Or(h.Spec.Zone, h.Spec.Rack), Created: c.At.UTC(),
	}
	if m.SystemUUID == "" {
		m.SystemUUID = h.Status.SystemUUID
	}
	switch h.Status.State {
	case v1alpha1.HostPoweringOn, v1alpha1.HostStopping:
		m.State = provider.StateCreating
	case v1alpha1.HostStopped:
		m.State = provider.StatePending
	case v1alpha1.HostPoweringOff:
		m.State = provider.StateDeleting
	case v1alpha1.HostError:
		m.State, m.Message = provider.StateFailed, h.Status.Fault+": "+h.Status.Message
	}
	return m
}
