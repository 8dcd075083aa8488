package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/identity"
)

// Keeper removes machines and Nodes of ours that no claim speaks for. It is driven by complete listings.
type Keeper struct {
	Live     *capacity.Live
	Kube     Kube
	Nodes    NodeFinder
	Backends Backends
	// Gate permits what cannot be taken back.
	Gate *Gate
	Log  *slog.Logger
	// Cluster is ours: machines with another one in their mark are not ours, whatever they are called.
	Cluster types.UID
	// Leading is asked before each effect; nil means always.
	Leading func() bool
	// Standings is told how many machines without a claim a provider has, by standing, after each complete listing; nil
	// tells nobody. Removed is told of each that is proven gone.
	Standings func(provider string, counts map[housekeeping.Standing]int)
	Removed   func(provider string)
	// Repaired is told the pool of each node that is replaced, Restarted that of each one that is restarted; nil tells nobody.
	Repaired  func(pool string)
	Restarted func(pool string)

	suspects map[string]housekeeping.Suspects
	silent   map[types.UID]time.Time // see followSilent, by Node
	told     map[string]map[housekeeping.Key]housekeeping.Standing
}

// orphans takes in a complete listing, deals with what is in it without a claim, and says how many machines that were.
func (k *Keeper) orphans(ctx context.Context, pr *v1alpha1.Provider, backend provider.Provider, l housekeeping.Listing) int {
	if k.suspects == nil {
		k.suspects, k.told = map[string]housekeeping.Suspects{}, map[string]map[housekeeping.Key]housekeeping.Standing{}
	}
	k.suspects[pr.Name] = k.suspects[pr.Name].Follow(l, k.Cluster)
	found := k.confirm(ctx, k.suspects[pr.Name].Judge(l, k.Cluster))
	counts, told := map[housekeeping.Standing]int{}, map[housekeeping.Key]housekeeping.Standing{}
	for _, o := range found {
		standing := o.Standing
		if standing == housekeeping.Orphaned {
			standing = k.deal(ctx, pr, backend, o)
		}
		counts[standing]++
		if told[housekeeping.KeyOf(o.Machine)] = standing; k.told[pr.Name][housekeeping.KeyOf(o.Machine)] != standing {
			k.tell(pr, o, standing)
		}
	}
	k.told[pr.Name] = told
	if k.Standings != nil {
		k.Standings(pr.Name, counts)
	}
	return len(found)
}

// confirm asks the API server itself whether the orphans have no claim. What it has a claim of is none; where it does not
// answer, all are suspected still.
func (k *Keeper) confirm(ctx context.Context, found []housekeeping.Orphan) []housekeeping.Orphan {
	orphaned := func(o housekeeping.Orphan) bool { return o.Standing == housekeeping.Orphaned }
	if !slices.ContainsFunc(found, orphaned) {
		return found
	}
	claims, err := k.Kube.Claims(ctx)
	if err != nil {
		k.Log.Warn("cannot confirm that machines have no claim", "error", err)
	}
	var out []housekeeping.Orphan
	for _, o := range found {
		if orphaned(o) && err != nil {
			o.Standing = housekeeping.Suspected
		}
		if !slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.UID == o.ClaimUID }) {
			out = append(out, o)
		}
	}
	return out
}

// deal does what is next about one orphan.
func (k *Keeper) deal(ctx context.Context, pr *v1alpha1.Provider, backend provider.Provider, o housekeeping.Orphan) housekeeping.Standing {
	own, may := k.nodes(o.Machine)
	scene := housekeeping.Scene{Orphan: o, Nodes: own}
	pods, err := k.pods(ctx, may)
	if err != nil {
		k.Log.Warn("cannot see what runs on a machine without a claim", "machine", o.ID, "error", err)
		return housekeeping.Orphaned
	}
	scene.Pods = pods
	standing := housekeeping.Deal(scene)
	switch {
	case !k.leading():
		return housekeeping.Orphaned
	case standing == housekeeping.Fence:
		k.fence(ctx, pr, scene)
	case standing == housekeeping.Remove:
		k.remove(ctx, pr, backend, o.Machine)
	}
	return standing
}

func (k *Keeper) leading() bool { return k.Leading == nil || k.Leading() }

// nodes finds the Nodes that are this machine's and no claim's, and the names of all that may be: what runs on one of
// those keeps the machine, though it is not ours to fence.
func (k *Keeper) nodes(m provider.Machine) (own []*corev1.Node, may []string) {
	claims, _ := k.Live.Claims()
	index := identity.NewIndex(claims)
	for _, n := range k.Nodes.Candidates(m.NodeName, m.ProviderID, m.SystemUUID) {
		how := lifecycle.MatchMachine(m, n)
		claim, by := index.Match(n)
		if how == identity.NoMatch || claim != nil && by >= how {
			continue
		}
		may = append(may, n.Name)
		if claim == nil && by != identity.Ambiguous && (how > identity.ByName || n.Name == m.NodeName) {
			own = append(own, n)
		}
	}
	return own, may
}

// pods are what runs on these nodes, as the API server has it, and what is on its way there.
func (k *Keeper) pods(ctx context.Context, nodes []string) ([]lifecycle.PodOnNode, error) {
	var pods []lifecycle.PodOnNode
	for _, n := range nodes {
		on, err := k.podsOn(ctx, n)
		if err != nil {
			return nil, err
		}
		pods = append(pods, on...)
	}
	return pods, nil
}

func (k *Keeper) podsOn(ctx context.Context, node string) ([]lifecycle.PodOnNode, error) {
	read, err := k.Kube.PodsOn(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("read the pods of node %s: %w", node, err)
	}
	var pods []lifecycle.PodOnNode
	for _, p := range unite(k.Live.Occupants(node), read) {
		pods = append(pods, lifecycle.PodOnNode{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Terminating: p.Terminating})
	}
	return pods, nil
}

func (k *Keeper) fence(ctx context.Context, pr *v1alpha1.Provider, s housekeeping.Scene) {
	for _, n := range s.Nodes {
		if housekeeping.Fenced(n) {
			continue
		}
		if err := ignoreStale(k.Kube.UpdateNode(ctx, n, lifecycle.FenceNode(n, s.Orphan.Machine, pr.Name))); err != nil {
			k.Log.Warn("cannot fence the node of a machine without a claim", "node", n.Name, "machine", s.Orphan.ID, "error", err)
			continue
		}
		k.Kube.Event(Subject{Kind: "Node", PodReference: v1alpha1.PodReference{Name: n.Name, UID: n.UID}}, true, "Fenced",
			fmt.Sprintf("machine %s has no NodeClaim: no more pods, removed when it is empty", s.Orphan.ID))
	}
}

// remove gives the machine back, one step a call, until the provider proves that it is gone.
func (k *Keeper) remove(ctx context.Context, pr *v1alpha1.Provider, backend provider.Provider, m provider.Machine) {
	proof, err := k.Gate.Orphan(ctx, backend, m)
	if err == nil {
		err = backend.Delete(ctx, m, proof)
	}
	switch {
	case errors.Is(err, provider.ErrNotFound):
		k.Log.Info("machine without a claim is gone", "provider", pr.Name, "machine", m.ID, "claim", m.Claim, "claimUID", m.ClaimUID)
		if k.Removed != nil {
			k.Removed(pr.Name)
		}
	case err != nil && ctx.Err() == nil:
		k.Log.Warn("cannot remove a machine without a claim", "provider", pr.Name, "machine", m.ID, "error", err)
	}
}

// standingText is what people are told of a machine without a claim.
var standingText = map[housekeeping.Standing]string{
	housekeeping.Suspected:    "has no NodeClaim; looked at again",
	housekeeping.Unidentified: "has no NodeClaim, and its mark does not say which cluster it belongs to: remove it by hand if it is nobody's",
	housekeeping.Fence:        "has no NodeClaim; its node is closed",
	housekeeping.Busy:         "has no NodeClaim and runs pods: drain its node, then it is removed",
	housekeeping.Protected:    "has no NodeClaim; an annotation of its node keeps it",
	housekeeping.Remove:       "has no NodeClaim and is removed",
}

// tell says once how it stands with a machine.
func (k *Keeper) tell(pr *v1alpha1.Provider, o housekeeping.Orphan, standing housekeeping.Standing) {
	if standingText[standing] == "" {
		return
	}
	text := fmt.Sprintf("machine %s of claim %s (UID %s) %s", o.ID, o.Claim, o.ClaimUID, standingText[standing])
	k.Log.Warn(text, "provider", pr.Name, "standing", standing, "since", o.Since)
	if standing != housekeeping.Suspected {
		k.Kube.Event(Subject{Kind: "Provider", PodReference: v1alpha1.PodReference{Name: pr.Name, UID: pr.UID}}, true,
			"MachineWithoutClaim", text)
	}
}
