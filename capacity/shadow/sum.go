package shadow

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// keptEnded is how many proposals that are over are named.
const keptEnded = 200

// ring keeps the last proposals that ended.
type ring[T any] struct{ list []T }

func (r *ring[T]) put(v T) {
	r.list = append(r.list, v)
	if over := len(r.list) - keptEnded; over > 0 {
		r.list = slices.Delete(r.list, 0, over)
	}
}

// latest are those that are kept, the latest first.
func (r *ring[T]) latest() []T {
	list := slices.Clone(r.list)
	slices.Reverse(list)
	if list == nil {
		list = []T{}
	}
	return list
}

// totals of a machine, until it ended or now.
func (m *Machine) totals(now time.Time) Totals {
	if m.Ended != nil {
		now = *m.Ended
	}
	hours := now.Sub(m.Ordered).Hours()
	t := Totals{Purchases: 1, MachineHours: hours, Cost: hours * m.Cost}
	for _, p := range m.Pods {
		until := now
		if p.Until != nil {
			until = *p.Until
		}
		if saved := until.Sub(m.Ready); saved > 0 {
			t.PodsHelped++
			t.WaitSaved += saved.Seconds()
		}
	}
	return t
}

func (n *Node) totals(now time.Time) Totals {
	if n.Ended != nil {
		now = *n.Ended
	}
	hours := now.Sub(n.Since).Hours()
	return Totals{Releases: 1, NodeHours: hours, Saved: hours * n.Cost}
}

func (b *book) report(now time.Time) Report {
	r := Report{
		Schema: Schema, Since: b.since, At: now, WaitingPods: b.waitingPods, Waiting: []Pod{}, Machines: []Machine{}, Nodes: []Node{},
		Replacements: slices.Concat([]Replacement{}, b.replacements), InTurn: b.inTurn,
		EndedMachines: b.endedMachines.latest(), EndedNodes: b.endedNodes.latest(), Pools: map[string]Totals{},
	}
	for _, p := range b.waiting {
		p.Waits = round(now.Sub(p.since).Seconds())
		r.Waiting = append(r.Waiting, p)
	}
	pools := map[string]Totals{}
	add := func(pool string, t Totals) {
		sum := pools[pool]
		sum.add(t)
		pools[pool] = sum
	}
	for pool, t := range b.over {
		add(pool, t)
	}
	for _, m := range sorted(b.machines) {
		add(m.Pool, m.totals(now))
		c := *m
		c.Pods = slices.Clone(m.Pods)
		r.Machines = append(r.Machines, c)
	}
	for _, n := range sorted(b.nodes) {
		add(n.Pool, n.totals(now))
		r.Nodes = append(r.Nodes, *n)
	}
	slices.SortStableFunc(r.Machines, func(a, b Machine) int { return cmp.Or(a.Ordered.Compare(b.Ordered), cmp.Compare(a.Name, b.Name)) })
	for _, pool := range slices.Sorted(maps.Keys(pools)) {
		r.Totals.add(pools[pool])
		r.Pools[pool] = pools[pool].rounded()
	}
	r.Totals = r.Totals.rounded()
	return r
}

// rounded has a thousandth of each, so that sums of floating point read alike.
func (t Totals) rounded() Totals {
	t.MachineHours, t.Cost, t.NodeHours = round(t.MachineHours), round(t.Cost), round(t.NodeHours)
	t.Saved, t.WaitSaved = round(t.Saved), round(t.WaitSaved)
	return t
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }
