package control

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider/gate"
)

// Freezes has the view follow what people have stopped, so that pools and pods are told, and plans are made anew when it ends. No act
// rests on it: each reads the freeze itself.
type Freezes struct {
	Live *capacity.Live
	Kube Kube
	Log  *slog.Logger

	read time.Time // when it was last read
}

const (
	// freezeEvery is how often it is read.
	freezeEvery = 2 * time.Second
	// freezeUnknownAfter is how long the view keeps the last one that was read: an API server that restarts is not told as a freeze.
	freezeUnknownAfter = 10 * time.Second
	// freezeAgain is when a plan or a decision is made again that had no answer.
	freezeAgain = time.Second
)

// Tick reads it once.
func (f *Freezes) Tick(ctx context.Context, now time.Time) {
	freeze, err := f.Kube.Freeze(ctx)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		f.read = now
	case !f.read.IsZero() && now.Sub(f.read) < freezeUnknownAfter:
		return
	default:
		freeze = gate.FreezeUnknown(err)
	}
	if !f.Live.SetFreeze(freeze) {
		return
	}
	if unread := freeze.Unread(); unread != "" {
		f.Log.Warn("everything counts as frozen", "why", unread)
		return
	}
	f.Log.Info("people changed what is frozen", "freeze", freeze.String())
}

// latest is the view with what people have stopped by now, which is read before an act; same says that it knew. Without an answer
// everything counts as frozen.
func latest(ctx context.Context, k Kube, live *capacity.Live, log *slog.Logger, v *capacity.View) (next *capacity.View, same bool) {
	freeze, err := k.Freeze(ctx)
	if err != nil {
		log.Warn("cannot read what is frozen: nothing is ordered, released or restarted", "error", err)
		freeze = gate.FreezeUnknown(err)
	} else {
		live.SetFreeze(freeze)
	}
	return v.WithFreeze(freeze), freeze.Equal(v.Freeze)
}

// maxInFlight bounds how many machines a condition names that are being deleted.
const maxInFlight = 5

// frozen says what of the pool people have stopped, and what was beyond recall by then.
func frozen(pool *v1alpha1.NodePool, v *capacity.View) metav1.Condition {
	releases, why := v.Freeze.Releases(pool.Name)
	provisioning, whyNot := v.Freeze.Provisioning(pool.Name)
	c := metav1.Condition{Type: v1alpha1.ConditionFrozen, Status: metav1.ConditionTrue, Message: why}
	switch {
	case v.Freeze.Unread() != "":
		c.Reason = v1alpha1.ReasonFreezeUnknown
		c.Message = "releases and provisioning count as frozen: " + v.Freeze.Unread()
	case releases && provisioning:
		c.Reason, c.Message = v1alpha1.ReasonAllFrozen, "releases and provisioning are frozen"+strings.TrimPrefix(why, "releases are frozen")
	case releases:
		c.Reason = v1alpha1.ReasonReleasesFrozen
	case provisioning:
		c.Reason, c.Message = v1alpha1.ReasonProvisioningFrozen, whyNot
	default:
		return metav1.Condition{Type: v1alpha1.ConditionFrozen, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotFrozen}
	}
	if going := beingDeleted(pool.Name, v); releases && going != "" {
		c.Message += "; " + going
	}
	return c
}

// beingDeleted names the pool's machines that their provider was asked to take back.
func beingDeleted(pool string, v *capacity.View) string {
	var names []string
	for _, c := range v.Claims {
		if o := c.Object; o.Spec.Pool == pool && o.Status.State == v1alpha1.ClaimReleasing {
			names = append(names, fmt.Sprintf("%s (machine %s)", o.Name, cmp.Or(o.Status.MachineID, o.Status.ReservedID, "not known")))
		}
	}
	if len(names) == 0 {
		return ""
	}
	text, more := strings.Join(names[:min(len(names), maxInFlight)], ", "), len(names)-maxInFlight
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if len(names) == 1 {
		return "1 machine is already being deleted: " + text
	}
	return fmt.Sprintf("%d machines are already being deleted: %s", len(names), text)
}

// tellFreeze says in an event that people have stopped a pool, or let it go on.
func (p *Planner) tellFreeze(old, next *v1alpha1.NodePool) {
	about := Subject{Kind: "NodePool", PodReference: v1alpha1.PodReference{Name: next.Name, UID: next.UID}}
	was, is := meta.FindStatusCondition(old.Status.Conditions, v1alpha1.ConditionFrozen), meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionFrozen)
	before := v1alpha1.ReasonNotFrozen
	if was != nil {
		before = was.Reason
	}
	switch {
	case is.Reason == before:
	case is.Status == metav1.ConditionTrue:
		p.Kube.Event(about, true, is.Reason, is.Message)
	default:
		p.Kube.Event(about, false, is.Reason, "releases and provisioning go on")
	}
}
