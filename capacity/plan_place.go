package capacity

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// place is a node, or a machine in flight, that may carry pods.
type place struct {
	*Place
	fresh []*Pod // to be added to the claim's reservations
	room  int    // how many more the claim can list
}

// home is a place that keeps room for a pod.
type home struct {
	*place
	// counted says that the room is already taken off what is free.
	counted bool
}

// findPlaces lists open nodes and machines in flight, each by name.
func (p *planner) findPlaces() {
	short := make(map[types.UID]bool, len(p.v.Shortfalls))
	for _, s := range p.v.Shortfalls {
		short[s.Pod.UID] = true
	}
	for _, n := range p.v.Nodes {
		if n.Stage == Open {
			p.open = append(p.open, &place{Place: p.sim.On(n.Name)})
		}
	}
	for _, c := range p.v.Claims {
		if coming(c) {
			p.coming = append(p.coming, p.newComing(c, p.v.Reserved[c.Object.Name], short))
		}
	}
}

// coming says whether a claim's room will open: it is in flight, or it is called Ready while the view of its node is
// older than that.
func coming(c *Claim) bool {
	return !Closed(c.Object) && c.Node.Stage == Starting
}

// newComing counts all room as free that is not kept for pods which are no shortfalls; those that are take theirs one by
// one, since the node may have turned out smaller than it was promised.
func (p *planner) newComing(c *Claim, reserved []*Pod, short map[types.UID]bool) *place {
	pl := &place{Place: p.sim.Arrive(c), room: maxReserved - len(c.Object.Spec.Reserved)}
	for _, pod := range reserved {
		if !short[pod.UID] {
			p.sim.Put(p.sim.Class(pod), pl.Place, 1)
		}
	}
	return pl
}

// findHomes notes where room is kept for each pod: first as the view counts it, then as the claims in flight say.
func (p *planner) findHomes() {
	p.homes = map[types.UID][]home{}
	byClaim := map[string]*place{}
	for _, pl := range p.open {
		if pl.Node.Claim != "" {
			byClaim[pl.Node.Claim] = pl
		}
	}
	for _, pl := range p.coming {
		byClaim[pl.Claim.Name] = pl
	}
	for _, c := range p.v.Claims {
		pl := byClaim[c.Object.Name]
		if pl == nil {
			continue
		}
		for _, pod := range p.v.Reserved[c.Object.Name] {
			p.homes[pod.UID] = append(p.homes[pod.UID], home{place: pl, counted: pl.Claim == nil})
		}
	}
	for _, pl := range p.coming {
		for _, ref := range pl.Claim.Spec.Reserved {
			if !slices.ContainsFunc(p.homes[ref.UID], func(h home) bool { return h.place == pl }) {
				p.homes[ref.UID] = append(p.homes[ref.UID], home{place: pl})
			}
		}
	}
}
