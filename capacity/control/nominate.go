package control

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// nominate names the node to the scheduler (status.nominatedNodeName) for the pods that it was ordered for: once for each
// pod, when the node takes pods and the filter would send the pod there. It doubles as the wake-up, and it is the trace of
// the reservation that outlives a restart. What was to be done is noted in the claim first. The pods named are returned:
// they need no other wake-up now.
func (p *Planner) nominate(ctx context.Context, v *capacity.View, plan capacity.Plan, now time.Time) sets.Set[types.UID] {
	done := sets.Set[types.UID]{}
	if p.Settled != nil && p.Settled() != nil {
		return done
	}
	short := make(map[types.UID]*capacity.Pod, len(v.Shortfalls))
	for _, s := range v.Shortfalls {
		if v.Schedulers.Place.Has(s.Pod.Scheduler) && plan.Outcomes[s.Pod.UID].Fate == capacity.FitsNow {
			short[s.Pod.UID] = s.Pod
		}
	}
	if len(short) == 0 {
		return done
	}
	before := sets.Set[types.UID]{}
	for _, c := range v.Claims {
		before.Insert(c.Object.Status.Nominated...)
	}
	for _, c := range v.Claims {
		var pods []*capacity.Pod
		for _, ref := range c.Object.Spec.Reserved {
			if pod := short[ref.UID]; pod != nil && !before.Has(ref.UID) && plan.Outcomes[ref.UID].Node == c.Node.Name && !p.Live.WasNominated(ref.UID) {
				before.Insert(ref.UID)
				pods = append(pods, pod)
			}
		}
		if c.Object.Status.State == v1alpha1.ClaimReady && len(pods) > 0 && p.noteNominated(ctx, c.Object, pods) {
			for _, pod := range pods {
				p.name(pod, c.Node.Name, now)
				done.Insert(pod.UID)
			}
		}
	}
	return done
}

// noteNominated writes into the claim which pods its node is about to be named to.
func (p *Planner) noteNominated(ctx context.Context, claim *v1alpha1.NodeClaim, pods []*capacity.Pod) bool {
	next := claim.DeepCopy()
	next.Status.Nominated = slices.Clone(claim.Status.Nominated)
	for _, pod := range pods {
		next.Status.Nominated = append(next.Status.Nominated, pod.UID)
	}
	updated, err := p.Kube.UpdateClaimStatus(ctx, next)
	if err != nil {
		if !Conflict(err) {
			p.Log.Warn("cannot note who is nominated", "claim", claim.Name, "error", err)
		}
		return false
	}
	p.Live.SetClaim(updated)
	return true
}

func (p *Planner) name(pod *capacity.Pod, node string, now time.Time) {
	p.Live.Nudged(pod.UID, now)
	p.Live.Naming(pod.UID, node)
	p.Teller.Nominate(pod, node, func() bool { return p.Live.Held(pod.UID) == "" })
	if p.named == nil {
		p.named = map[types.UID]time.Time{}
	}
	p.named[pod.UID] = now
	p.wakeAt(now.Add(nudgeEvery))
}

// nominatedFor is how long the scheduler has to ask about a pod to which its node was named.
const nominatedFor = 10 * time.Second

// followNominated sees to the pods whose node was named and that the scheduler did not ask about: its own filters may
// refuse the node, or nothing made it look. Their nomination no longer counts as a hold, so that they are woken, and in the
// end planned for elsewhere, like others.
func (p *Planner) followNominated(now time.Time) {
	for uid, since := range p.named {
		switch end := since.Add(nominatedFor); {
		case p.Live.Pod(uid) == nil:
			delete(p.named, uid)
		case now.Before(end):
			p.wakeAt(end)
		default:
			p.Live.EndNomination(uid, now)
			delete(p.named, uid)
		}
	}
}
