package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	gate     Gate
	now      func() time.Time

	claiming sync.Mutex // two creations must not see the same host free
}

var _ provider.Provider = (*Provider)(nil)

// NewProvider returns the verbs over the hosts whose spec.provider is this name. The switches are for Check, the gate is for
// Create: without one no host is claimed.
func NewProvider(name string, objects Objects, switches Switches, gate Gate, now func() time.Time) *Provider {
	return &Provider{name: name, objects: objects, switches: switches, gate: gate, now: now}
}

// claimTries is how often another host is looked for when somebody else was quicker.
const claimTries = 5

// Create claims a host for a request.
func (p *Provider) Create(ctx context.Context, r provider.Request) (provider.Machine, error) {
	p.claiming.Lock()
	defer p.claiming.Unlock()
	denied := map[string]error{} // by host: what of it was not handed over
	for tries := 0; tries < claimTries; tries++ {
		all, err := p.all(ctx)
		if err != nil {
			return provider.Machine{}, fmt.Errorf("create %s: %w", r.Claim, err)
		}
		hosts := of(p.name, all)
		if h := claimedBy(all, r.ClaimUID); h != nil {
			if h.Spec.Provider != p.name {
				return provider.Machine{}, fmt.Errorf("create %s: %w", r.Claim, p.moved(h))
			}
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
		h, why, err := Choose(r, slices.DeleteFunc(hosts, func(h *v1alpha1.Host) bool { return denied[h.Name] != nil }))
		if err != nil {
			return provider.Machine{}, &provider.Error{Op: "create " + r.Claim, Kind: provider.ErrMisconfigured, Err: err, Hint: "see template.hosts of the pool"}
		}
		if h == nil && len(denied) > 0 {
			return provider.Machine{}, p.notHandedOver(r, of(p.name, all), denied)
		}
		if h == nil {
			return provider.Machine{}, fmt.Errorf("create %s: %s: %w", r.Claim, why, provider.ErrNoCapacity)
		}
		if err := p.handOver(ctx, h, r, all); err != nil {
			denied[h.Name] = err
			tries-- // one host less to choose from
			continue
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

// handOver asks the gate whether anything of an earlier claim is left on a free host, and spends its proof. All hosts were read a moment
// ago, after the claim was written; who writes to the host meanwhile makes the claiming of it fail.
func (p *Provider) handOver(ctx context.Context, h *v1alpha1.Host, r provider.Request, all []*v1alpha1.Host) error {
	if p.gate == nil {
		return errNoGate
	}
	proof, err := p.gate.HandOver(ctx, h, r, func(context.Context) ([]*v1alpha1.Host, error) { return all, nil })
	if err != nil {
		return err
	}
	return proof.Spend(gate.HandOver, gate.Subject{Machine: h.Name, ClaimUID: r.ClaimUID, Attempt: r.Attempt}, p.now())
}

// leavesWithin is how long what an earlier claim left on a host may take to go: its Node's pods are collected after 40 s.
const leavesWithin = 2 * time.Minute

// notHandedOver says that no free host is handed over. What was given back a moment ago, or could not be looked at, is waited for;
// anything else is as good as no host.
func (p *Provider) notHandedOver(r provider.Request, hosts []*v1alpha1.Host, denied map[string]error) error {
	kind, first := provider.ErrNoCapacity, slices.Min(slices.Collect(maps.Keys(denied)))
	for _, h := range hosts {
		var refusal *gate.Refusal
		err := denied[h.Name]
		if err == nil {
			continue
		}
		free := leavesWithin
		if since := h.Status.Since; since != nil {
			free = p.now().Sub(since.Time)
		}
		if !errors.As(err, &refusal) || free >= 0 && free < leavesWithin {
			kind = provider.ErrBusy
		}
	}
	return &provider.Error{Op: "create " + r.Claim, Kind: kind,
		Err: fmt.Errorf("free hosts that are not handed over: %d; host %s: %w", len(denied), first, denied[first])}
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
	all, err := p.all(ctx)
	if err != nil {
		return provider.Machine{}, fmt.Errorf("get %s: %w", m.ClaimUID, err)
	}
	h := claimedBy(all, m.ClaimUID)
	switch {
	case h == nil:
		return provider.Machine{}, fmt.Errorf("get %s: %w", m.ClaimUID, absent(all, m))
	case h.Spec.Provider != p.name:
		return provider.Machine{}, fmt.Errorf("get %s: %w", m.ClaimUID, p.moved(h))
	}
	return machineOf(h), nil
}

// absent says what it means that no host has a claim. Only the Host itself proves that the claim gave it back: one that is missing, or
// that was made again under its name, knows nothing of the machine that the claim switched on.
func absent(all []*v1alpha1.Host, m provider.Machine) error {
	if m.ID == "" {
		return fmt.Errorf("no host has claim UID %s: %w", m.ClaimUID, provider.ErrNotFound)
	}
	i := slices.IndexFunc(all, func(h *v1alpha1.Host) bool { return h.Name == string(m.ID) })
	switch {
	case i < 0:
		return unproven(m, fmt.Sprintf("Host %s does not exist any more, and its machine may be on", m.ID))
	case served(all[i], m.ClaimUID):
		return fmt.Errorf("host %s was given back by claim UID %s: %w", m.ID, m.ClaimUID, provider.ErrNotFound)
	}
	return unproven(m, fmt.Sprintf("Host %s does not know the claim: it was made again, or its status was taken away, and its machine may be on", m.ID))
}

func unproven(m provider.Machine, why string) error {
	return &provider.Error{Op: "host " + string(m.ID), Kind: provider.ErrUnknown, Err: errors.New(why),
		Hint: "if the machine is off for good: muster confirm-gone " + m.Claim}
}

// moved says that the host of a claim is another Provider's now.
func (p *Provider) moved(h *v1alpha1.Host) error {
	return &provider.Error{Op: "host " + h.Name, Kind: provider.ErrUnknown,
		Err: fmt.Errorf("spec.provider is %s, and claim %s has it from %s", h.Spec.Provider, h.Status.Claim.Name, p.name), Hint: "set spec.provider back"}
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
		all, err := p.all(ctx)
		if err != nil {
			return fmt.Errorf("delete %s: %w", m.ID, err)
		}
		h, err := p.owned(all, m)
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
		all, err := p.all(ctx)
		if err != nil {
			return provider.Machine{}, fmt.Errorf("stop %s: %w", m.ID, err)
		}
		h, err := p.owned(all, m)
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
func (p *Provider) owned(all []*v1alpha1.Host, m provider.Machine) (*v1alpha1.Host, error) {
	if m.ClaimUID == "" {
		return nil, fmt.Errorf("no claim UID: %w", provider.ErrRefused)
	}
	if h := claimedBy(all, m.ClaimUID); h != nil {
		switch {
		case h.Name != string(m.ID):
			return nil, fmt.Errorf("claim UID %s has host %s: %w", m.ClaimUID, h.Name, provider.ErrRefused)
		case h.Spec.Provider != p.name:
			return nil, p.moved(h)
		}
		return h, nil
	}
	i := slices.IndexFunc(all, func(h *v1alpha1.Host) bool { return h.Name == string(m.ID) })
	if i >= 0 && !served(all[i], m.ClaimUID) {
		return nil, fmt.Errorf("host %s is not of claim UID %s: %w", m.ID, m.ClaimUID, provider.ErrRefused)
	}
	return nil, absent(all, m)
}

// hosts returns the hosts of this provider by name, from a complete list.
func (p *Provider) hosts(ctx context.Context) ([]*v1alpha1.Host, error) {
	all, err := p.all(ctx)
	return of(p.name, all), err
}

// all returns every Host, from a complete list.
func (p *Provider) all(ctx context.Context) ([]*v1alpha1.Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", provider.ErrUnknown, err)
	}
	all, err := p.objects.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list hosts: %w: %w", provider.ErrUnknown, err)
	}
	return all, nil
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
	if h.Status.Met != nil && h.Status.SwitchedOn { // what was never switched on is given back, whatever answers
		id = *h.Status.Met
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
