package reaper

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/lifecycle"
)

// The reasons to take a release back.
const (
	Demand Reason = "Demand" // a pod waits that fits there and nowhere else
	Came   Reason = "Came"   // a pod was bound to the node while it was closed, and its release evicts nobody
)

// Reopening is a release to be taken back.
type Reopening struct {
	Claim  *v1alpha1.NodeClaim
	Reason Reason
}

// reopenings takes releases back as long as nothing was asked of the provider: of nodes that a late binding reached, and of
// as many as it takes for the pods that wait and fit nowhere else. The node that was closed last is the first: the
// least was done to it.
func reopenings(v *capacity.View) (out []Reopening) {
	var rest []*capacity.Claim
	for _, c := range closing(v) {
		if c.Object.Spec.Release.Drain == nil && slices.ContainsFunc(v.Pods[c.Node.Name], arrived) {
			out = append(out, Reopening{c.Object, Came})
		} else {
			rest = append(rest, c)
		}
	}
	if len(rest) == 0 {
		return out
	}
	for _, c := range newDemand(v).wants(rest) {
		out = append(out, Reopening{c.Object, Demand})
	}
	return out
}

// arrived says that a pod will stay on the node unless somebody evicts it.
func arrived(p *capacity.Pod) bool { return !p.Resident() && !p.Terminating }

// closing are the claims whose release may still be taken back, the last to be closed first. A release that somebody else
// asked for is not ours to take back.
func closing(v *capacity.View) []*capacity.Claim {
	var out []*capacity.Claim
	for _, c := range v.Claims {
		_, seen := v.Seen[c.Node.Name]
		state := c.Object.Status.State
		ours := c.Object.Spec.Release != nil && ours(Reason(c.Object.Spec.Release.Reason))
		if seen && ours && c.Object.DeletionTimestamp == nil && (state == v1alpha1.ClaimReady || state == v1alpha1.ClaimDraining) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *capacity.Claim) int {
		return cmp.Or(b.Object.Spec.Release.Since.Compare(a.Object.Spec.Release.Since.Time),
			strings.Compare(a.Object.Name, b.Object.Name))
	})
	return out
}

// ours says whether a release is the reaper's own.
func ours(why Reason) bool {
	return why == Idle || why == Underused || why == Drifted || why == Expired || why == Consolidated
}

// demand is the pods that wait and the room that is open to them. Room only shrinks as pods are given some, so a node without
// room for an Ask is not looked at again for the same one.
type demand struct {
	view  *capacity.View
	open  []room
	next  map[*capacity.Ask]int // the first open node that may have room for such a pod
	taken map[types.UID]bool    // pods for which a machine is on its way
}

// room is a node and what is free on it.
type room struct {
	*capacity.Node
	free amount.Resources
}

func (r *room) take(p *capacity.Pod, v *capacity.View) bool {
	if !capacity.Fit(p.Ask, r.Node, r.free, v.Classes).Fits {
		return false
	}
	r.free.Sub(p.Ask.Requests)
	return true
}

func newDemand(v *capacity.View) *demand {
	d := &demand{view: v, next: map[*capacity.Ask]int{}, taken: map[types.UID]bool{}}
	for _, n := range v.Nodes {
		if n.Stage == capacity.Open {
			d.open = append(d.open, room{n, n.Free()})
		}
	}
	for _, pods := range v.Reserved {
		for _, p := range pods {
			d.taken[p.UID] = true
		}
	}
	return d
}

// wants are the claims that pods need which fit nowhere else.
func (d *demand) wants(closing []*capacity.Claim) (wanted []*capacity.Claim) {
	rooms := make([]room, 0, len(closing))
	for _, c := range closing {
		opened := *c.Node
		opened.Object = lifecycle.OpenNode(c.Node.Object)
		rooms = append(rooms, room{&opened, opened.Free()})
	}
	reopened := make([]bool, len(closing))
	for _, s := range d.view.Shortfalls {
		if d.taken[s.Pod.UID] || s.Pod.Ask.Unjudged.Code != "" || d.placed(s) {
			continue
		}
		for i := range rooms {
			if !s.RefusesNode(rooms[i].Name, d.view.Seen[rooms[i].Name]) && rooms[i].take(s.Pod, d.view) {
				reopened[i] = true
				break
			}
		}
	}
	for i, c := range closing {
		if reopened[i] {
			wanted = append(wanted, c)
		}
	}
	return wanted
}

// placed says whether an open node takes the pod. What refuses only this pod is asked again for the next one.
func (d *demand) placed(s *capacity.Shortfall) bool {
	from, whole := d.next[s.Pod.Ask], true
	for i := from; i < len(d.open); i++ {
		n := &d.open[i]
		switch {
		case s.RefusesNode(n.Name, d.view.Seen[n.Name]):
			whole = false
		case n.take(s.Pod, d.view):
			return true
		case whole:
			from = i + 1
		}
	}
	d.next[s.Pod.Ask] = from
	return false
}
