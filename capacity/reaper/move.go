package reaper

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
	"github.com/muster-sh/muster/capacity/simulation"
)

const (
	// movesEvery is how often nodes are looked for whose pods could move: that costs more than all the rest, and nothing
	// that hangs on it is urgent.
	movesEvery = 10 * time.Second
	// effort bounds one such search, in looks at a pod on a node.
	effort = 2_000_000
)

// search looks for nodes that may go although they have pods: first for those that are to go whatever they carry.
func (d *decider) search(few, worn []*capacity.Claim) {
	groups, cheap := d.groups(), d.cheapable()
	if len(few)+len(worn)+len(groups)+len(cheap) == 0 {
		return
	}
	if left := d.memory.Moved.Add(movesEvery).Sub(d.now); left > 0 {
		for _, c := range slices.Concat(few, worn) {
			d.spare(c, Waiting, "")
		}
		d.wake(left)
		return
	}
	d.Looked = true
	d.wake(movesEvery)
	if d.renew(worn) || d.finish(groups) {
		for _, c := range few {
			d.spare(c, InTurn, "")
		}
		return
	}
	before := len(d.Release)
	d.move(few)
	if len(groups) == 0 && len(d.Release) == before {
		d.consolidate(cheap)
	}
}

// move releases nodes whose pods all fit elsewhere, the emptiest first, as long as all that go can go together.
func (d *decider) move(few []*capacity.Claim) {
	if len(few) == 0 {
		return
	}
	m, grows := newMover(d)
	if grows != "" {
		for _, c := range few {
			d.spare(c, Growing, grows)
		}
		return
	}
	for _, c := range emptiest(few, d.v) {
		m.try(c)
	}
	m.commit()
}

// emptiest orders claims by how much of their nodes is asked for, then by how many pods would have to move.
func emptiest(claims []*capacity.Claim, v *capacity.View) []*capacity.Claim {
	sorted := slices.Clone(claims)
	slices.SortStableFunc(sorted, func(a, b *capacity.Claim) int {
		return cmp.Or(
			cmp.Compare(Utilization(a.Node), Utilization(b.Node)),
			cmp.Compare(len(v.Pods[a.Node.Name]), len(v.Pods[b.Node.Name])),
			strings.Compare(a.Object.Name, b.Object.Name),
		)
	})
	return sorted
}

// mover tries which nodes could be emptied, one after the other, each counting on those before.
type mover struct {
	*decider
	base      *capacity.View // in which the pods of nodes that are being drained wait already
	sim       *simulation.Simulation
	spots     []*spot
	vacant    []*simulation.Place // open nodes without pods
	rooms     map[string]*rooms   // by pool; "" are the nodes that are nobody's
	budgets   podBudgets
	receiving map[string]bool
	chosen    []trip
}

// trip is a node to be emptied.
type trip struct {
	claim *capacity.Claim
	pods  []*capacity.Pod
}

// spot is a node that may take pods.
type spot struct {
	*simulation.Place
	leaves bool
}

// newMover puts the pods that wait where the planner sends them. Where machines are about to be bought it says so: then is no
// time to move pods.
func newMover(d *decider) (*mover, string) {
	base := settledView(d)
	m := &mover{
		decider: d, base: base, sim: simulation.New(base), rooms: map[string]*rooms{},
		budgets: newPodBudgets(d.v.Budgets), receiving: map[string]bool{},
	}
	if len(base.Shortfalls) > 0 {
		plan := planner.PlanWithin(base, d.now, effort)
		if plan.Late > 0 || len(plan.Creates) > 0 {
			return nil, "machines are to be bought for pods that wait"
		}
		for _, s := range base.Shortfalls {
			if place := m.sim.On(plan.Outcomes[s.Pod.UID].Node); place != nil {
				m.sim.Put(m.sim.Class(s.Pod), place, 1)
			}
		}
	}
	m.findSpots()
	m.sim.Afford(effort)
	return m, ""
}

// findSpots are the open nodes, the fullest first. Nodes that are empty are left to run out.
func (m *mover) findSpots() {
	going := map[string]bool{}
	for _, r := range m.Release {
		going[r.Claim.Name] = true
	}
	for _, p := range m.sim.Places() {
		n := p.Node
		if _, empty := m.memory.Empty[n.Name]; n.Stage != capacity.Open || going[n.Claim] || capacity.Unreachable(n.Object) {
			continue
		} else if empty {
			m.vacant = append(m.vacant, p)
		} else {
			m.spots = append(m.spots, &spot{Place: p})
		}
		m.roomsOf(n.Pool).add(n.Allocatable, p.Free)
	}
	slices.SortStableFunc(m.spots, func(a, b *spot) int {
		return cmp.Or(cmp.Compare(Utilization(b.Node), Utilization(a.Node)), strings.Compare(a.Node.Name, b.Node.Name))
	})
}

func (m *mover) roomsOf(pool string) *rooms {
	r := m.rooms[pool]
	if r == nil {
		r = m.newRooms(pool)
		m.rooms[pool] = r
	}
	return r
}

// newRooms sums nothing yet; nodes of no pool keep no headroom.
func (d *decider) newRooms(pool string) *rooms {
	r := &rooms{}
	if p := d.pools[pool]; p != nil && p.object != nil {
		r.headroom = int64(or(p.object.Spec.ScaleDown.Headroom, DefaultHeadroom))
	}
	return r
}
