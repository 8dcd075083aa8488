package planner

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
)

// place is a node, or a machine in flight, that may carry pods.
type place struct {
	*simulation.Place
	fresh []*capacity.Pod // to be added to the claim's reservations
	room  int             // how many more the claim can list

	create int // of a machine that the plan buys: where it stands in Creates
}

// home is a place that keeps room for a pod.
type home struct {
	*place
	// counted says that the view has taken the room off what is free there.
	counted bool
}

// findOpen lists the open nodes, and notes for which pods their claims keep room. The view has taken it off what is free.
func (p *planner) findOpen() {
	byClaim := map[string]*place{}
	for _, n := range p.v.Nodes {
		if n.Stage == capacity.Open {
			pl := &place{Place: p.sim.On(n.Name)}
			p.open = append(p.open, pl)
			byClaim[n.Claim] = pl
		}
	}
	p.homes, p.expecting = map[types.UID][]home{}, map[types.UID]bool{}
	for _, c := range p.v.Claims {
		if c.Coming() {
			for _, ref := range c.Object.Spec.Reserved {
				p.expecting[ref.UID] = true
			}
		}
		for _, pod := range p.v.Reserved[c.Object.Name] {
			if pl := byClaim[c.Object.Name]; pl != nil {
				p.homes[pod.UID] = append(p.homes[pod.UID], home{place: pl, counted: true})
			}
		}
	}
	p.findExpected()
}

// findExpected has pods stay where the last plan sent them, so that no plan sends them back and forth. What a plan said
// of a pod while the batch window was open does not count: it may not have known of more important ones.
func (p *planner) findExpected() {
	byNode := make(map[string]*place, len(p.open))
	for _, pl := range p.open {
		byNode[pl.Node.Name] = pl
	}
	for _, s := range p.v.Shortfalls {
		uid := s.Pod.UID
		if pl := byNode[p.v.Expected[uid]]; s.Planned && pl != nil && !p.keeps(pl, uid) {
			p.homes[uid] = append(p.homes[uid], home{place: pl})
		}
	}
}

// arrive has the machines in flight come, by name: first those that nobody is coming to any more, so that none is left
// empty for room that another has beside its own pods. Before that they are nothing that kube-scheduler counts with.
func (p *planner) arrive() {
	short := make(map[types.UID]bool, len(p.v.Shortfalls))
	for _, s := range p.v.Shortfalls {
		short[s.Pod.UID] = true
	}
	p.arrived, p.homes = true, map[types.UID][]home{}
	for _, c := range p.v.Claims {
		if c.Coming() {
			p.coming = append(p.coming, p.newComing(c, p.v.Reserved[c.Object.Name], short))
		}
	}
	slices.SortStableFunc(p.coming, func(a, b *place) int {
		return cmp.Compare(min(len(p.v.Reserved[a.Claim.Name]), 1), min(len(p.v.Reserved[b.Claim.Name]), 1))
	})
	p.findHomes()
}

// newComing counts all room as free that is not kept for pods which are no shortfalls; those that are take theirs one by
// one, since the node may have turned out smaller than it was promised.
func (p *planner) newComing(c *capacity.Claim, reserved []*capacity.Pod, short map[types.UID]bool) *place {
	pl := &place{Place: p.sim.Arrive(c), room: maxReserved - len(c.Object.Spec.Reserved)}
	for _, pod := range reserved {
		if !short[pod.UID] {
			p.sim.Put(p.sim.Class(pod), pl.Place, 1)
		}
	}
	return pl
}

// findHomes notes on which machines in flight room is kept for each pod: first as the view counts it, then as the claims
// say.
func (p *planner) findHomes() {
	for _, pl := range p.coming {
		for _, pod := range p.v.Reserved[pl.Claim.Name] {
			p.homes[pod.UID] = append(p.homes[pod.UID], home{place: pl})
		}
	}
	for _, pl := range p.coming {
		for _, ref := range pl.Claim.Spec.Reserved {
			if !p.keeps(pl, ref.UID) {
				p.homes[ref.UID] = append(p.homes[ref.UID], home{place: pl})
			}
		}
	}
}

// keeps says whether a place keeps room for a pod.
func (p *planner) keeps(pl *place, uid types.UID) bool {
	return slices.ContainsFunc(p.homes[uid], func(h home) bool { return h.place == pl })
}
