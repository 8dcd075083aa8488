package reaper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/planner"
	"github.com/muster-sh/muster/capacity/simulation"
)

// try moves the pods of one node, or says why they stay.
func (m *mover) try(c *capacity.Claim) {
	p := m.pools[c.Object.Spec.Pool]
	why, detail := p.refuses(Underused, m.now)
	switch {
	case why != "":
	case p.coming:
		why, detail = Growing, "machines of this pool are on their way"
	case m.receiving[c.Node.Name]:
		why = Receiving
	case m.sim.Spent():
		why = NotReached
	default:
		why, detail = m.empty(c)
	}
	m.spare(c, why, detail)
}

// empty moves all pods of a node, or none.
func (m *mover) empty(c *capacity.Claim) (Reason, string) {
	pods := movable(m.v, c.Node.Name)
	if why := m.budgets.refuse(pods); why != "" {
		return PodBudget, why
	}
	before := m.sim.Mark()
	from := m.spotOf(c.Node.Name)
	if from == nil {
		return Unconfirmed, ""
	}
	rooms := m.cloneRooms()
	m.roomsOf(c.Object.Spec.Pool).leave(c.Node.Allocatable, from.Free)
	from.leaves = true
	into, why, detail := m.send(pods, from)
	if why != "" {
		m.sim.Rewind(before)
		m.rooms, from.leaves = rooms, false
		return why, detail
	}
	for _, name := range into {
		m.receiving[name] = true
	}
	m.budgets.spend(pods)
	m.pools[c.Object.Spec.Pool].lose()
	m.chosen = append(m.chosen, trip{claim: c, pods: guests(m.v, c.Node.Name)})
	return Underused, ""
}

// send takes pods off a node and puts them elsewhere, the largest first. It names the nodes that took them.
func (m *mover) send(pods []*capacity.Pod, from *spot) (into []string, why Reason, detail string) {
	for _, pod := range pods {
		m.sim.Remove(pod, from.Place)
	}
	touched, landed := map[string]bool{}, map[*spot][]*capacity.Pod{}
	for _, pod := range pods {
		again := pod.Again()
		to := m.find(m.sim.Class(again))
		if to == nil {
			return nil, NoRoom, "pod " + pod.Key()
		}
		if rather := m.drawn(again, to, landed[to]); rather != nil {
			return nil, Drawn, fmt.Sprintf("pod %s would rather go to node %s", pod.Key(), rather.Node.Name)
		}
		landed[to] = append(landed[to], pod)
		m.sim.Put(m.sim.Class(again), to.Place, 1)
		m.roomsOf(to.Node.Pool).take(pod.Ask.Requests)
		touched[to.Node.Pool] = true
		into = append(into, to.Node.Name)
	}
	touched[from.Node.Pool] = true
	for _, pool := range slices.Sorted(maps.Keys(touched)) {
		if r := m.roomsOf(pool); r.tight() {
			return nil, Headroom, fmt.Sprintf("pool %s would have less than %d%% left free", pool, r.headroom)
		}
	}
	return into, "", ""
}

// find is the fullest node that takes such a pod.
func (m *mover) find(c *simulation.Class) *spot {
	want := &c.Ask.Requests
	for _, s := range m.spots {
		if s.leaves || s.Free.MilliCPU < want.MilliCPU || s.Free.Memory < want.Memory || s.Free.Pods < want.Pods {
			continue
		}
		if m.sim.Spent() {
			return nil
		}
		if m.sim.Judge(c, s.Place).Fits {
			return s
		}
	}
	return nil
}

// drawn is the node without pods that a pod likes better than the one found for it, where others of its node have landed
// already. The pod would go there: a node would have been emptied to fill another, and a pool that keeps nodes ready would buy
// the next one.
func (m *mover) drawn(pod *capacity.Pod, to *spot, landed []*capacity.Pod) *simulation.Place {
	class := m.sim.Class(pod)
	strict := m.sim.Strictest(class)
	crowded := slices.ContainsFunc(slices.Concat(m.v.Pods[to.Node.Name], landed), pod.Apart)
	likes := func(p *simulation.Place) bool { return strict == class || m.sim.Judge(strict, p).Fits }
	if !crowded && likes(to.Place) {
		return nil
	}
	for _, v := range m.vacant {
		if m.sim.Judge(class, v).Fits && (crowded || likes(v)) {
			return v
		}
	}
	return nil
}

func (m *mover) spotOf(node string) *spot {
	i := slices.IndexFunc(m.spots, func(s *spot) bool { return s.Node.Name == node })
	if i < 0 {
		return nil
	}
	return m.spots[i]
}

// guests are the pods of a node that do not live and die with it; movable are those of them that are not leaving anyway, the
// largest first.
func guests(v *capacity.View, node string) []*capacity.Pod {
	return slices.DeleteFunc(slices.Clone(v.Pods[node]), func(p *capacity.Pod) bool { return !guest(p) })
}

func movable(v *capacity.View, node string) []*capacity.Pod {
	pods := slices.DeleteFunc(guests(v, node), func(p *capacity.Pod) bool { return p.Terminating })
	slices.SortStableFunc(pods, func(a, b *capacity.Pod) int {
		return cmp.Or(
			cmp.Compare(b.Ask.Requests.MilliCPU, a.Ask.Requests.MilliCPU),
			cmp.Compare(b.Ask.Requests.Memory, a.Ask.Requests.Memory),
			strings.Compare(a.Key(), b.Key()),
		)
	})
	return pods
}

// commit asks the planner itself what it would do for the pods once they wait for a node. Where it would buy, or knows no node
// for one of them, fewer nodes go: the last to be chosen stay.
func (m *mover) commit() {
	for len(m.chosen) > 0 && m.buysBack() {
		keep := len(m.chosen) / 2
		for _, t := range m.chosen[keep:] {
			m.spare(t.claim, BoughtBack, "")
			m.pools[t.claim.Object.Spec.Pool].regain()
		}
		m.chosen = m.chosen[:keep]
	}
	for _, t := range m.chosen {
		m.Release = append(m.Release, Release{
			Claim: t.claim.Object, Reason: Underused, Pods: t.pods, Drain: drainOf(m.pools[t.claim.Object.Spec.Pool].object),
		})
	}
}

// buysBack says whether a plan would buy a machine, or knows no node for a pod that was moved.
func (m *mover) buysBack() bool {
	claims, moved := make([]*v1alpha1.NodeClaim, 0, len(m.chosen)), map[string][]*capacity.Pod{}
	for _, t := range m.chosen {
		claims = append(claims, t.claim.Object)
		moved[t.claim.Node.Name] = movable(m.v, t.claim.Node.Name)
	}
	plan := planner.PlanWithin(m.base.Without(claims, moved), m.now, effort)
	if plan.Late > 0 || len(plan.Creates) > 0 {
		return true
	}
	for _, pods := range moved {
		for _, p := range pods {
			if o := plan.Outcomes[p.UID]; o.Node == "" {
				return true
			}
		}
	}
	return false
}
