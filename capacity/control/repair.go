package control

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/housekeeping"
)

// repair restarts or replaces nodes that are not ready for long, where their pool asks for it, and leaves those alone that come
// back.
func (k *Keeper) repair(ctx context.Context, now time.Time) {
	v := k.Live.View()
	r := housekeeping.Repair(v, now)
	if len(r.Restart)+len(r.Replace) > 0 {
		v, _ = latest(ctx, k.Kube, k.Live, k.Log, v)
	}
	for _, c := range r.Spare {
		c = c.DeepCopy()
		c.Spec.Release = nil
		k.record(ctx, c, "NodeRecovered", fmt.Sprintf("node %s is ready again: it is not replaced", c.Status.NodeName))
	}
	for _, one := range r.Restart {
		if frozen, _ := v.Freeze.Releases(one.Pool.Name); frozen {
			continue // the pool says so
		}
		c := one.Claim.DeepCopy()
		c.Spec.Restart = &v1alpha1.Restart{Since: metav1.NewMicroTime(now)}
		if k.record(ctx, c, "NodeUnhealthy", fmt.Sprintf("node %s was not ready for %s: it is restarted", c.Status.NodeName,
			one.Pool.Spec.Repair.After.Duration)) && k.Restarted != nil {
			k.Restarted(c.Spec.Pool)
		}
	}
	for _, one := range r.Replace {
		if frozen, _ := v.Freeze.Releases(one.Pool.Name); frozen {
			continue
		}
		c, pool := one.Claim.DeepCopy(), one.Pool
		c.Spec.Release = &v1alpha1.Release{Reason: housekeeping.Unhealthy, Since: metav1.NewMicroTime(now), Drain: drainOf(pool)}
		if k.record(ctx, c, "NodeUnhealthy", fmt.Sprintf("node %s was not ready for %s%s: it is replaced", c.Status.NodeName,
			pool.Spec.Repair.After.Duration, restartsOf(c))) && k.Repaired != nil {
			k.Repaired(c.Spec.Pool)
		}
	}
}

// restartsOf says what became of a restart.
func restartsOf(c *v1alpha1.NodeClaim) string {
	last := c.Status.Restart
	switch {
	case last == nil:
		return ""
	case last.Step == v1alpha1.RestartImpossible:
		return ", and its machine cannot be restarted"
	}
	return ", also after a restart"
}

// record writes a claim of which something was asked or withdrawn, and tells so. The version that was decided on is the fence.
func (k *Keeper) record(ctx context.Context, c *v1alpha1.NodeClaim, reason, message string) (written bool) {
	if !k.leading() {
		return false
	}
	updated, err := k.Kube.UpdateClaim(ctx, c)
	if err != nil {
		if !Conflict(err) {
			k.Log.Error("could not write the claim of an unhealthy node", "claim", c.Name, "error", err)
		}
		return false
	}
	k.Live.SetClaim(updated)
	k.Log.Warn(message, "claim", c.Name, "reason", reason)
	k.Kube.Event(Subject{Kind: "NodeClaim", PodReference: v1alpha1.PodReference{Name: c.Name, UID: c.UID}}, true, reason, message)
	return true
}

// drainOf is how a pool's unhealthy node is emptied.
func drainOf(p *v1alpha1.NodePool) *v1alpha1.Drain {
	d := &v1alpha1.Drain{Timeout: metav1.Duration{Duration: 15 * time.Minute}, EvictLocalStorage: true}
	if t := p.Spec.ScaleDown.DrainTimeout; t != nil {
		d.Timeout = *t
	}
	d.Force = p.Spec.ScaleDown.Force
	return d
}
