package control

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/identity"
)

// HostLister reads every Host past every cache.
type HostLister = func(ctx context.Context) ([]*v1alpha1.Host, error)

// PowerOff proves that the power of a claimed host may be taken: met is what its interface told a moment ago, in the operation that
// is to take it.
func (g *Gate) PowerOff(ctx context.Context, h *v1alpha1.Host, met v1alpha1.MachineIdentity, list HostLister) (gate.Proof, error) {
	s, pool := gate.Subject{Machine: h.Name}, ""
	if c := h.Status.Claim; c != nil {
		s.ClaimUID, s.Attempt, pool = c.UID, c.Attempt, c.Pool
	}
	e := g.evidence(ctx, gate.PowerOff, pool, s)
	current, _, err := g.host(ctx, &e, h, list)
	if err != nil {
		return g.judge(e)
	}
	e.Restart = current.Status.State == v1alpha1.HostStopping
	asks, not := asksForPowerOff(current, s)
	e.Intent = gate.Read(gate.Intent{Asks: asks, Not: not})
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		e.Nodes, e.On = gate.Unread[[]gate.Node](err), gate.Unread[[]gate.Pod](err)
		return g.judge(e)
	}
	found, missing, ok := g.nodesOf(ctx, &e, claimOf(current, claims), claims)
	if !ok {
		return g.judge(e)
	}
	e.Machine = gate.Read(hostReading(current, witnessed(current, met, found)))
	g.bound(ctx, &e, found, missing)
	return g.judge(e)
}

// host reads all hosts: which others cannot be told apart from this one, and the host as the API server has it.
func (g *Gate) host(ctx context.Context, e *gate.Evidence, h *v1alpha1.Host, list HostLister) (current *v1alpha1.Host, twins []string, err error) {
	hosts, err := list(ctx)
	if err != nil {
		e.Intent, e.Twins = gate.Unread[gate.Intent](err), gate.Unread[[]string](err)
		return nil, nil, err
	}
	twins = identity.HostTwins(hosts)[h.Name]
	e.Twins = gate.Read(twins)
	i := slices.IndexFunc(hosts, func(o *v1alpha1.Host) bool { return o.Name == h.Name && o.UID == h.UID })
	if i < 0 {
		e.Intent = gate.Read(gate.Intent{Missing: true})
		return nil, nil, fmt.Errorf("host %s is gone", h.Name)
	}
	return hosts[i], twins, nil
}

// asksForPowerOff says what of a host asks for its power to be taken for this claim.
func asksForPowerOff(h *v1alpha1.Host, s gate.Subject) (asks, not string) {
	st := &h.Status
	in := fmt.Sprintf("host %s is %s", h.Name, st.State)
	switch {
	case st.Claim == nil || st.Claim.UID != s.ClaimUID || st.Claim.Attempt != s.Attempt:
		return "", in + ", and not this claim's"
	case !st.SwitchedOn:
		return "", in + ", and was not switched on by Muster"
	case st.State != v1alpha1.HostPoweringOff && st.State != v1alpha1.HostStopping:
		return "", in
	}
	return in + " for claim " + st.Claim.Name, ""
}

func hostReading(h *v1alpha1.Host, met v1alpha1.MachineIdentity) gate.Machine {
	m := gate.Machine{Cluster: h.Status.Claim.Cluster, ClaimUID: h.Status.Claim.UID, Attempt: h.Status.Claim.Attempt, Now: met}
	if h.Status.Identity != nil {
		m.Recorded = *h.Status.Identity
	}
	return m
}

// witnessed is what was met of a host whose interface tells nothing of its machine, with what the host's Node reports. A BMC without
// any identity wants the Node that registered after Muster had switched this host on; a host without a BMC is switched off by its
// Node, so that any Node with its UUID or provider ID says what it is. docs/hosts.md has the table.
func witnessed(h *v1alpha1.Host, met v1alpha1.MachineIdentity, found []identity.Candidate) v1alpha1.MachineIdentity {
	alone := h.Spec.Power.Interface == v1alpha1.PowerWoL
	if !alone && (identity.UUID(met.SystemUUID) != "" || met.Serial != "") {
		return met
	}
	met.SystemUUID = ""
	for _, f := range found {
		registered := h.Status.Claim.NodeUID != "" && f.Node.UID == h.Status.Claim.NodeUID
		if len(f.Others) == 0 && (registered || alone && f.How >= identity.BySystemUUID) {
			met.SystemUUID = f.Node.Status.NodeInfo.SystemUUID
		}
	}
	return met
}

// claimOf is the claim of a host, or what the host remembers of one that is gone.
func claimOf(h *v1alpha1.Host, claims []*v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	c := h.Status.Claim
	if i := slices.IndexFunc(claims, func(o *v1alpha1.NodeClaim) bool { return o.UID == c.UID }); i >= 0 {
		return withHost(claims[i].DeepCopy(), h, c)
	}
	return remembered(h, c)
}

// remembered is a claim as its host remembers it. Its name is none that a Node or a claim may have: names of claims come again.
func remembered(h *v1alpha1.Host, c *v1alpha1.HostClaim) *v1alpha1.NodeClaim {
	claim := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "host/" + h.Name}}
	if c != nil {
		claim.UID, claim.Status.Attempts = c.UID, c.Attempt
	}
	return withHost(claim, h, c)
}

// withHost adds what the host knows and its claim does not say.
func withHost(claim *v1alpha1.NodeClaim, h *v1alpha1.Host, c *v1alpha1.HostClaim) *v1alpha1.NodeClaim {
	st := &claim.Status
	uuid := h.Spec.SystemUUID
	if uuid == "" {
		uuid = h.Status.SystemUUID
	}
	if st.ProviderID == "" {
		st.ProviderID = h.Spec.ProviderID
	}
	if st.SystemUUID == "" {
		st.SystemUUID = uuid
	}
	if c != nil && st.NodeName == "" {
		st.NodeName, st.NodeUID = c.NodeName, c.NodeUID
	}
	return claim
}

// nodesOf reads the Nodes that could be a claim's machine, and the names of those that are gone.
func (g *Gate) nodesOf(ctx context.Context, e *gate.Evidence, c *v1alpha1.NodeClaim, claims []*v1alpha1.NodeClaim) (found []identity.Candidate, missing []string, ok bool) {
	found, nodes := g.candidates(ctx, e, c, claims)
	if nodes == nil {
		return nil, nil, false
	}
	if name := c.Status.NodeName; name != "" && !known(nodes, name) {
		missing = append(missing, name)
	}
	return found, missing, true
}

// HandOver proves that a free host may be claimed: no other claim names it, nothing is left of the Node of its last claim, and no pod
// is bound to that Node's name.
func (g *Gate) HandOver(ctx context.Context, h *v1alpha1.Host, r provider.Request, list HostLister) (gate.Proof, error) {
	e := g.evidence(ctx, gate.HandOver, r.Pool, gate.Subject{Machine: h.Name, ClaimUID: r.ClaimUID, Attempt: r.Attempt})
	e.Frozen = gate.Read("") // what orders a machine asked whether that is frozen
	current, twins, err := g.host(ctx, &e, h, list)
	if err != nil {
		return g.judge(e)
	}
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		e.Intent, e.Twins = gate.Unread[gate.Intent](err), gate.Unread[[]string](err)
		return g.judge(e)
	}
	e.Intent = gate.Read(asksForHost(current, r, claims))
	e.Twins = gate.Read(append(twins, holders(current, r, claims)...))
	others := slices.DeleteFunc(slices.Clone(claims), func(c *v1alpha1.NodeClaim) bool { return c.UID == r.ClaimUID })
	if found, missing, ok := g.nodesOf(ctx, &e, remembered(current, current.Status.Released), others); ok {
		g.bound(ctx, &e, found, missing)
	}
	return g.judge(e)
}

// asksForHost says whether a claim waits for a host.
func asksForHost(h *v1alpha1.Host, r provider.Request, claims []*v1alpha1.NodeClaim) gate.Intent {
	i := slices.IndexFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.Name == r.Claim && c.UID == r.ClaimUID })
	switch {
	case i < 0:
		return gate.Intent{Missing: true}
	case claims[i].Status.State != v1alpha1.ClaimLaunching || claims[i].Status.Attempts != r.Attempt:
		return gate.Intent{Not: fmt.Sprintf("claim %s is %s, attempt %d", r.Claim, claims[i].Status.State, claims[i].Status.Attempts)}
	case h.Status.Claim != nil:
		return gate.Intent{Not: fmt.Sprintf("host %s is claimed by %s", h.Name, h.Status.Claim.Name)}
	}
	return gate.Intent{Asks: fmt.Sprintf("claim %s is %s", r.Claim, claims[i].Status.State)}
}

// holders are the claims that name a host as their machine, and do not know yet that it is gone: the host was made again under its
// name, or was given back a moment ago.
func holders(h *v1alpha1.Host, r provider.Request, claims []*v1alpha1.NodeClaim) []string {
	var found []string
	for _, c := range claims {
		names := c.Status.MachineID == h.Name && (c.Status.Host == h.Name || c.Status.Host == "")
		if c.UID == r.ClaimUID || !names || lifecycle.MachineGone(c) {
			continue
		}
		found = append(found, fmt.Sprintf("the machine of claim %s (it has host %s)", c.Name, h.Name))
	}
	return found
}

// Claimed says whether a NodeClaim with this UID exists.
func (g *Gate) Claimed(ctx context.Context, claim types.UID) (bool, error) {
	claims, err := g.claims.read(ctx, g.Kube.Claims)
	if err != nil {
		return true, fmt.Errorf("read the claims: %w", err)
	}
	return slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.UID == claim }), nil
}

// PowerOffLabel is on the Pod that switches off a host without a BMC, and names the Host. The Pod is part of the act.
const PowerOffLabel = "muster.sh/host"

// ofTheAct says that a pod is the one that switches its node off.
func ofTheAct(p *corev1.Pod) bool {
	name := p.Labels[PowerOffLabel]
	return name != "" && p.Name == "poweroff-"+name
}
