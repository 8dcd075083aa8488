package control

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/experience"
)

// PoolStatus is a copy of the pool with what the view shows of it: its nodes, its machines in flight, whether it can
// grow, and what became of its machines.
func PoolStatus(pool *v1alpha1.NodePool, v *capacity.View, review experience.Review, now time.Time) *v1alpha1.NodePool {
	next := pool.DeepCopy()
	next.Status.Nodes, next.Status.InFlight = 0, 0
	claims := int32(0)
	for _, c := range v.Claims {
		if c.Object.Spec.Pool != pool.Name {
			continue
		}
		claims++
		switch {
		case c.InFlight():
			next.Status.InFlight++
		case c.Object.Status.State == v1alpha1.ClaimReady:
			next.Status.Nodes++
		}
	}
	next.Status.Forgotten = experience.ForgottenAt(pool, now)
	next.Status.Shapes, next.Status.Backoffs = review.Shapes[pool.Name], review.Backoffs[pool.Name]
	ready := growth(next, v, claims, now)
	ready.ObservedGeneration = pool.Generation
	ready.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&next.Status.Conditions, ready)
	next.Status.Template = v.Template(pool).Hash
	next.Status.Circuits = review.Circuits[pool.Name]
	braked := braked(next.Status.Circuits)
	braked.ObservedGeneration = pool.Generation
	braked.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&next.Status.Conditions, braked)
	frozen := frozen(pool, v)
	frozen.ObservedGeneration = pool.Generation
	frozen.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&next.Status.Conditions, frozen)
	tellOutage(next, v, now)
	return next
}

// reasonBackingOff is why a pool cannot grow while it waits after failures.
const reasonBackingOff = "BackingOff"

// maxNamed bounds how many open circuits a condition names.
const maxNamed = 5

// braked says for which pods the pool buys nothing because its machines came up in vain.
func braked(circuits []v1alpha1.Circuit) metav1.Condition {
	var open []string
	for i := range circuits {
		if c := &circuits[i]; c.Open() {
			open = append(open, fmt.Sprintf("pods like %s: %s", c.Example, c.Message))
		}
	}
	if len(open) == 0 {
		return metav1.Condition{Type: v1alpha1.ConditionBraked, Status: metav1.ConditionFalse, Reason: "MachinesTaken"}
	}
	text := strings.Join(open[:min(len(open), maxNamed)], "; ")
	if more := len(open) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionBraked, Status: metav1.ConditionTrue, Reason: string(capacity.CodeBought), Message: text,
	}
}

// tellOutage names the silent nodes on the pool while there is an outage, and says when it is over. A pool that never had one has no
// such condition.
func tellOutage(pool *v1alpha1.NodePool, v *capacity.View, now time.Time) {
	is := metav1.Condition{Type: v1alpha1.ConditionOutage, Status: metav1.ConditionFalse, Reason: "NodesAnswer",
		ObservedGeneration: pool.Generation, LastTransitionTime: metav1.NewTime(now)}
	if o := v.Outage(time.Time{}); o.On() {
		names := strings.Join(o.Silent[:min(len(o.Silent), maxNamed)], ", ")
		if more := len(o.Silent) - maxNamed; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		is.Status, is.Reason = metav1.ConditionTrue, "NodesSilent"
		is.Message = fmt.Sprintf("%d of %d nodes are silent (%s): none is restarted or replaced, %s", len(o.Silent), o.Of, names, releasesUntil(v, now))
	}
	if is.Status == metav1.ConditionTrue || meta.FindStatusCondition(pool.Status.Conditions, v1alpha1.ConditionOutage) != nil {
		meta.SetStatusCondition(&pool.Status.Conditions, is)
	}
}

// releasesUntil says until when nodes are not released because of an outage.
func releasesUntil(v *capacity.View, now time.Time) string {
	o := v.Outage(now.Add(-capacity.OutageLasts))
	if !o.On() {
		return fmt.Sprintf("and idle nodes are released again, since this has been so for %s", capacity.OutageLasts)
	}
	return "and none is released before " + o.Ends.UTC().Format(time.RFC3339)
}

// growth says whether the pool can grow.
func growth(pool *v1alpha1.NodePool, v *capacity.View, claims int32, now time.Time) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	provider := v.Providers[pool.Spec.Provider]
	why, text := capacity.ProviderTrouble(pool.Spec.Provider, provider)
	switch {
	case pool.DeletionTimestamp != nil:
		return no("PoolDeleted", "the pool is being deleted")
	case why == capacity.ProviderNotReady:
		return no(string(why), "provider "+text+": "+meta.FindStatusCondition(provider.Status.Conditions, v1alpha1.ConditionReady).Message)
	case why != "":
		return no(string(why), "provider "+text)
	case claims >= pool.Spec.Limits.MaxNodes:
		return no("LimitReached", fmt.Sprintf("%d of %d nodes", claims, pool.Spec.Limits.MaxNodes))
	}
	whole, shapes := waits(pool.Status.Backoffs, now)
	if len(whole) > 0 {
		return no(reasonBackingOff, strings.Join(whole, "; "))
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "CanGrow", Message: strings.Join(shapes, "; "),
	}
}

// waits tells what is waited for after failures: by the whole pool, and by some of its shapes.
func waits(backoffs []v1alpha1.PoolBackoff, now time.Time) (whole, shapes []string) {
	for i := range backoffs {
		b := &backoffs[i]
		if !b.Until.After(now) {
			continue
		}
		text := fmt.Sprintf("%s (in a row: %d), next try at %s: %s", b.Class, b.Failures, b.Until.UTC().Format("15:04:05 MST"), b.Message)
		if b.Shape == "" {
			whole = append(whole, text)
		} else {
			shapes = append(shapes, "shape "+b.Shape+": "+text)
		}
	}
	return whole, shapes[:min(len(shapes), maxNamed)]
}

// tellStops says in an event that a pool buys no more, of some kind or at all, because of what became of its machines.
func (p *Planner) tellStops(old, next *v1alpha1.NodePool) {
	about := Subject{Kind: "NodePool", PodReference: v1alpha1.PodReference{Name: next.Name, UID: next.UID}}
	braked := meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionBraked)
	if braked.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(old.Status.Conditions, v1alpha1.ConditionBraked) {
		p.Kube.Event(about, true, braked.Reason, braked.Message)
	}
	outage := meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionOutage)
	if outage != nil && outage.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(old.Status.Conditions, v1alpha1.ConditionOutage) {
		p.Kube.Event(about, true, outage.Reason, outage.Message)
	}
	was, is := meta.FindStatusCondition(old.Status.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionReady)
	if is.Reason == reasonBackingOff && (was == nil || was.Reason != is.Reason) {
		p.Kube.Event(about, true, is.Reason, is.Message)
	}
}
