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
)

// strays deletes Nodes of ours without a claim whose machine is proven gone.
func (k *Keeper) strays(ctx context.Context, now time.Time) {
	found := k.unclaimed()
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
	s := housekeeping.StrayNode{Node: n, Pods: len(pods), Gone: k.provenGone(ctx, housekeeping.ClaimOf(n))}
	verdict := housekeeping.JudgeStray(s, now)
	k.Log.Debug("node without a claim", "node", n.Name, "verdict", verdict)
	if verdict != housekeeping.Delete || !k.leading() {
		return nil
	}
	if err := k.Kube.DeleteNode(ctx, n.Name, n.UID); err != nil {
		return ignoreStale(err)
	}
	k.Log.Info("node deleted: its claim and its machine are gone", "node", n.Name, "claimUID", housekeeping.ClaimOf(n))
	return nil
}

// provenGone says that every provider answered that it has no machine of this claim. Nobody knows any more which of them
// made it.
func (k *Keeper) provenGone(ctx context.Context, claim types.UID) bool {
	all := k.Live.Providers()
	for _, pr := range all {
		backend, err := k.Backends.Backend(pr.Name)
		if err != nil {
			return false
		}
		if _, err := backend.Get(ctx, provider.Machine{ClaimUID: claim}); !errors.Is(err, provider.ErrNotFound) {
			return false
		}
	}
	return len(all) > 0
}
