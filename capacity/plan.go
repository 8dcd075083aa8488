package capacity

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Plan says which machines to buy for the pods that lack room, and what becomes of each pod. It is a wish: whoever
// performs it takes what was created into Live before the next plan is made, or the next plan buys again.
type Plan struct {
	// Creates are the machines to buy, in the order in which they were chosen.
	Creates []Create
	// Reserve are machines in flight that will carry more pods than they were ordered for, by claim name.
	Reserve []Reservation
	// Outcomes has one entry for every shortfall of the view.
	Outcomes map[types.UID]Outcome
	// Looks is the effort that the plan took: see PlanWithin.
	Looks int64
	// Late counts the pods that the plan did not get to within its effort.
	Late int
	// Next is when to plan again although nothing happened; 0 when only events matter.
	Next time.Duration
	// Cost of all machines in Creates for one hour, as package policy counts it.
	Cost float64
	// LowerBound is a cost below which nobody could carry the pods of Creates: see docs/planner.md.
	LowerBound float64

	// Turns are the pods that go where there is room, in the order in which they were judged.
	Turns []types.UID
}

// Create is one machine to buy.
type Create struct {
	// Claim is ready to be created, its slot chosen and the pods it is for reserved. It belongs to the caller.
	Claim *v1alpha1.NodeClaim
	// Pods are those it is bought for; none for a machine that only keeps the pool's minimum.
	Pods []*Pod
	// Cost of the machine for one hour, as package policy counts it.
	Cost float64
}

// Reservation is room on a claim that exists.
type Reservation struct {
	// Claim as it is in the view; it is not changed.
	Claim *v1alpha1.NodeClaim
	// Pods to be added to its spec.reserved.
	Pods []*Pod
}

// Carry adds a pod to those that the machine is bought for.
func (c *Create) Carry(pod *Pod) {
	c.Pods = append(c.Pods, pod)
	c.Claim.Spec.Reserved = append(c.Claim.Spec.Reserved, pod.Ref())
}

// Drop takes pods out of those that the machine is bought for.
func (c *Create) Drop(pods []*Pod) {
	if len(pods) == 0 {
		return
	}
	gone := func(uid types.UID) bool {
		return slices.ContainsFunc(pods, func(p *Pod) bool { return p.UID == uid })
	}
	c.Pods = slices.DeleteFunc(c.Pods, func(p *Pod) bool { return gone(p.UID) })
	c.Claim.Spec.Reserved = c.Claim.Spec.Reserved[:0]
	for _, p := range c.Pods {
		c.Claim.Spec.Reserved = append(c.Claim.Spec.Reserved, p.Ref())
	}
}
