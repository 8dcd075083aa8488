package control

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
)

// strays deletes Nodes of ours without a claim whose machine is proven gone.
func (k *Keeper) strays(ctx context.Context, now time.Time) {
	found := k.unclaimed()
	k.followSilent(found, now)
	if len(found) == 0 {
		return
	}
	claims, err := k.Kube.Claims(ctx)
	if err != nil {
		k.Log.Warn("cannot confirm that nodes have no claim", "error", err)
		return
	}
	for _, n := range found {
		uid := housekeeping.ClaimOf(n)
		if slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.UID == uid }) {
			continue
		}
		if err := k.stray(ctx, n, now); err != nil {
			k.Log.Warn("cannot judge a node without a claim", "node", n.Name, "error", err)
		}
	}
}

// followSilent notes when each of these Nodes was first seen without a heartbeat, by the clock of this process.
func (k *Keeper) followSilent(nodes []*corev1.Node, now time.Time) {
	next := map[types.UID]time.Time{}
	for _, n := range nodes {
		silent, _ := housekeeping.IsSilent(n)
		if !silent {
			continue
		}
		if next[n.UID] = now; !k.silent[n.UID].IsZero() {
			next[n.UID] = k.silent[n.UID]
		}
	}
	k.silent = next
}

// unclaimed are the Nodes that carry the UID of a claim and match none, by name.
func (k *Keeper) unclaimed() []*corev1.Node {
	var found []*corev1.Node
	for _, n := range k.Live.View().Nodes {
		if n.Claim != "" {
			continue
		}
		for _, full := range k.Nodes.Candidates(n.Name, "", "") {
			if full.Name == n.Name && housekeeping.ClaimOf(full) != "" {
				found = append(found, full)
			}
		}
	}
	return found
}

func (k *Keeper) stray(ctx context.Context, n *corev1.Node, now time.Time) error {
	pods, err := k.podsOn(ctx, n.Name)
	if err != nil {
		return err
	}
	gone := k.provenGone(ctx, n)
	s := housekeeping.StrayNode{Node: n, Pods: len(pods), Gone: gone, Silent: k.silent[n.UID]}
	verdict := housekeeping.JudgeStray(s, now)
	k.Log.Debug("node without a claim", "node", n.Name, "verdict", verdict)
	if verdict != housekeeping.Delete || !k.leading() {
		return nil
	}
	proof, err := k.Gate.Stray(ctx, n, gate.Read(gate.Machine{Absent: gone}))
	if err != nil {
		return err
	}
	if err := k.Kube.DeleteNode(ctx, n.Name, n.UID, proof); err != nil {
		return ignoreStale(err)
	}
	k.Log.Info("node deleted: its claim and its machine are gone", "node", n.Name, "claimUID", housekeeping.ClaimOf(n))
	return nil
}

// provenGone says that every provider answered that it has no machine of the Node's claim, among them the one that made it: a
// Provider object that is gone has answered nothing.
func (k *Keeper) provenGone(ctx context.Context, n *corev1.Node) bool {
	claim, maker := housekeeping.ClaimOf(n), n.Annotations[v1alpha1.ProviderAnnotation]
	all := k.Live.Providers()
	if maker == "" || !slices.ContainsFunc(all, func(pr *v1alpha1.Provider) bool { return pr.Name == maker }) {
		return false
	}
	for _, pr := range all {
		backend, err := k.Backends.Backend(pr.Name)
		if err != nil {
			return false
		}
		if _, err := backend.Get(ctx, provider.Machine{ClaimUID: claim}); !errors.Is(err, provider.ErrNotFound) {
			return false
		}
	}
	return true
}
