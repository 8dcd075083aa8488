package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/reaper"
)

// The reasons of the condition Deleting.
const (
	ReasonReleasingNodes = "ReleasingNodes" // the nodes of a deleted pool are drained and released
	ReasonKeepingNodes   = "KeepingNodes"   // they become plain nodes
	ReasonInUse          = "InUse"          // claims, hosts or machines need the object
)

// ReasonPoolMissing is the reason of an event on a claim whose pool is gone.
const ReasonPoolMissing = "PoolMissing"

// keep hands the nodes of claims over to the user. That Muster never touches their machines again is on record in the Provider before
// a claim goes: after that nothing else would tell them from machines that were lost.
func (r *Reaper) keep(ctx context.Context, claims []*v1alpha1.NodeClaim, now time.Time) {
	byProvider := map[string][]*v1alpha1.NodeClaim{}
	for _, c := range claims {
		byProvider[c.Spec.Provider] = append(byProvider[c.Spec.Provider], c)
	}
	for _, p := range r.Live.Providers() {
		mine := byProvider[p.Name]
		if len(mine) == 0 || !r.recordKept(ctx, p, mine, now) {
			continue
		}
		for _, c := range mine {
			next := c.DeepCopy()
			metav1.SetMetaDataAnnotation(&next.ObjectMeta, v1alpha1.KeepNodeAnnotation, "true")
			updated, err := r.Kube.UpdateClaim(ctx, next)
			if err != nil {
				if !Conflict(err) {
					r.Log.Error("could not hand a node over", "claim", c.Name, "node", c.Status.NodeName, "error", err)
				}
				continue
			}
			r.Live.SetClaim(updated)
			r.Log.Info("keeping node as a plain node", "claim", c.Name, "node", c.Status.NodeName)
		}
	}
}

// recordKept lists machines as kept in their Provider. It returns true when all of them are known to be listed.
func (r *Reaper) recordKept(ctx context.Context, p *v1alpha1.Provider, claims []*v1alpha1.NodeClaim, now time.Time) bool {
	next := p.DeepCopy()
	for _, c := range claims {
		if !next.Status.Keeps(c.UID) {
			next.Status.KeptMachines = append(next.Status.KeptMachines, v1alpha1.KeptMachine{
				ClaimUID: c.UID, Claim: c.Name, ID: c.Status.MachineID, Node: c.Status.NodeName, Since: metav1.NewTime(now),
			})
		}
	}
	if len(next.Status.KeptMachines) == len(p.Status.KeptMachines) {
		return true
	}
	if err := r.Kube.UpdateProviderStatus(ctx, next); err != nil && !Conflict(err) {
		r.Log.Warn("cannot record the machines that are kept", "provider", p.Name, "error", err)
	}
	return false // until the watch shows it
}

// settleDeletions puts finalizers on pools with claims and takes them off pools without, and says on pools and Providers that are being
// deleted what they wait for.
func (r *Reaper) settleDeletions(ctx context.Context, d reaper.Decision, now time.Time) {
	v := r.Live.View()
	claims := map[string]int{}
	for _, c := range v.Claims {
		claims[c.Object.Spec.Pool]++
		if d.Reasons[c.Object.Name] == reaper.NoPool {
			r.tellPoolMissing(c.Object)
		}
	}
	for _, p := range v.Pools {
		if err := r.settlePool(ctx, p, claims[p.Name]); err != nil && !Conflict(err) {
			r.Log.Warn("cannot settle the finalizer of a pool", "pool", p.Name, "error", err)
		}
		if p.DeletionTimestamp != nil && claims[p.Name] > 0 {
			r.tellDeletedPool(ctx, v, p, d, now)
		}
	}
	for _, p := range v.Providers {
		if p.DeletionTimestamp != nil {
			r.tellDeletedProvider(ctx, v, p, now)
		}
	}
}

// tellPoolMissing says once that nothing is done about a node because its pool is gone, which the finalizer prevents unless a person
// took it off.
func (r *Reaper) tellPoolMissing(c *v1alpha1.NodeClaim) {
	if r.poolless[c.UID] {
		return
	}
	if r.poolless == nil {
		r.poolless = map[types.UID]bool{}
	}
	r.poolless[c.UID] = true
	r.Log.Warn("pool of a claim does not exist", "claim", c.Name, "pool", c.Spec.Pool, "node", c.Status.NodeName)
	r.Kube.Event(Subject{Kind: "NodeClaim", PodReference: v1alpha1.PodReference{Name: c.Name, UID: c.UID}}, true, ReasonPoolMissing,
		fmt.Sprintf("NodePool %s does not exist: node %s stays as it is. Create the pool again, or delete this NodeClaim to drain the node",
			c.Spec.Pool, c.Status.NodeName))
}

func (r *Reaper) settlePool(ctx context.Context, p *v1alpha1.NodePool, claims int) error {
	held := slices.Contains(p.Finalizers, v1alpha1.PoolFinalizer)
	switch {
	case claims > 0 && !held && p.DeletionTimestamp == nil:
		return holdPool(ctx, r.Live, r.Kube, p)
	case claims == 0 && held:
		defer lock(r.buying)()
		if p = r.Live.Pool(p.Name); p != nil {
			return letPoolGo(ctx, r.Live, r.Kube, p)
		}
	}
	return nil
}

// tellDeletedPool says how far the end of a pool is.
func (r *Reaper) tellDeletedPool(ctx context.Context, v *capacity.View, p *v1alpha1.NodePool, d reaper.Decision, now time.Time) {
	next := p.DeepCopy()
	condition := PoolDeletion(next, v, d)
	condition.LastTransitionTime = metav1.NewTime(now)
	begins := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionDeleting)
	if !meta.SetStatusCondition(&next.Status.Conditions, condition) && samePoolStatus(p.Status, next.Status) {
		return
	}
	if err := r.Kube.UpdatePoolStatus(ctx, next); err != nil {
		if !Conflict(err) {
			r.Log.Warn("cannot write the pool's status", "pool", p.Name, "error", err)
		}
		return
	}
	if begins == nil || begins.Reason != condition.Reason {
		r.Log.Info("pool is being deleted", "pool", p.Name, "reason", condition.Reason, "message", condition.Message)
		r.Kube.Event(poolSubject(p), false, condition.Reason, condition.Message)
	}
}

// PoolDeletion says which machines a pool that is being deleted still has, and why. It notes in the pool's status how many it had.
func PoolDeletion(p *v1alpha1.NodePool, v *capacity.View, d reaper.Decision) metav1.Condition {
	var left []string
	for _, c := range v.Claims {
		if c.Object.Spec.Pool == p.Name {
			left = append(left, c.Object.Name+": "+whyLeft(c.Object, d))
		}
	}
	all := max(int(p.Status.NodesAtDeletion), len(left))
	p.Status.NodesAtDeletion = int32(min(all, v1alpha1.MaxPoolNodes)) //nolint:gosec // bounded in the same line
	condition := metav1.Condition{
		Type: v1alpha1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: ReasonReleasingNodes, ObservedGeneration: p.Generation,
		Message: fmt.Sprintf("%d of %d nodes released; waiting for %s. The annotation %s=true keeps the others as plain nodes", all-len(left), all,
			named(left), v1alpha1.KeepNodesAnnotation),
	}
	if p.Annotations[v1alpha1.KeepNodesAnnotation] == "true" {
		condition.Reason = ReasonKeepingNodes
		condition.Message = fmt.Sprintf("%d of %d nodes are plain nodes now or were released before; waiting for %s", all-len(left), all, named(left))
	}
	return condition
}

// whyLeft says what a claim waits for.
func whyLeft(c *v1alpha1.NodeClaim, d reaper.Decision) string {
	if c.Spec.Release != nil && c.Status.State == v1alpha1.ClaimReady {
		return "its node is about to be closed"
	}
	if capacity.Closed(c) && c.Status.Message != "" {
		return string(c.Status.State) + ", " + c.Status.Message
	}
	if why := d.Reasons[c.Name]; why != "" {
		return said(why, d.Details[c.Name])
	}
	return string(c.Status.State)
}

// tellDeletedProvider says which claims still need a Provider.
func (r *Reaper) tellDeletedProvider(ctx context.Context, v *capacity.View, p *v1alpha1.Provider, now time.Time) {
	condition := ProviderDeletion(p, v)
	condition.LastTransitionTime = metav1.NewTime(now)
	next, begins := p.DeepCopy(), meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionDeleting) == nil
	if !meta.SetStatusCondition(&next.Status.Conditions, condition) {
		return
	}
	if err := r.Kube.UpdateProviderStatus(ctx, next); err != nil {
		if !Conflict(err) {
			r.Log.Warn("cannot write the provider's status", "provider", p.Name, "error", err)
		}
		return
	}
	if begins {
		r.Log.Warn("provider is being deleted", "provider", p.Name, "message", condition.Message)
		r.Kube.Event(providerSubject(p), true, ReasonInUse, condition.Message)
	}
}

// ProviderDeletion says what needs a Provider that is being deleted, and what can be done.
func ProviderDeletion(p *v1alpha1.Provider, v *capacity.View) metav1.Condition {
	var claims, pools []string
	for _, c := range v.Claims {
		if o := c.Object; o.Spec.Provider == p.Name {
			claims = append(claims, o.Name)
			if !slices.Contains(pools, o.Spec.Pool) {
				pools = append(pools, o.Spec.Pool)
			}
		}
	}
	condition := metav1.Condition{Type: v1alpha1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: ReasonInUse, ObservedGeneration: p.Generation}
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case len(claims) > 0:
		condition.Message = fmt.Sprintf("%d NodeClaims need it: %s. Nothing new is provisioned from it, and their machines can be released. "+
			"Delete their NodePools (%s) to drain and release the nodes, or annotate these with %s=true to keep the nodes",
			len(claims), named(claims), named(pools), v1alpha1.KeepNodesAnnotation)
	case ready != nil && ready.Status == metav1.ConditionFalse:
		condition.Message = fmt.Sprintf("no NodeClaim needs it, and it does not say whether it still has machines of Muster's (%d when it was last "+
			"asked): %s. Where it is gone for good, take the finalizer %s off", p.Status.Machines, ready.Message, v1alpha1.ProviderFinalizer)
	default:
		condition.Message = fmt.Sprintf("no NodeClaim needs it; it is asked for machines of Muster's (%d when it was last asked)", p.Status.Machines)
	}
	return condition
}
