package planner

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/internal/object"
)

// tightWorld sells machines of one to nine cores at the same price for a core; the largest is filled first.
func tightWorld() *world {
	p := object.Pool("pool", 10)
	for _, cores := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		p.Spec.Template.Shapes = append(p.Spec.Template.Shapes, priced(object.Shape("c"+cores, "cpu", cores, "memory", "64Gi"), cores))
	}
	return newWorld(p)
}

// Two machines that are a little too full for the next smaller size, and one that has that little left.
func TestRoundingIsFilledByOtherMachines(t *testing.T) {
	w := tightWorld()
	w.pending("large", 1, "cpu", "4400m")
	w.pending("middle", 1, "cpu", "3500m")
	w.pending("small", 1, "cpu", "3300m")
	w.pending("least", 1, "cpu", "700m")
	p := newPlanner(w.view(0, object.Start), object.Start)
	d := p.market.newDraft(p.batches, evenly[0])
	d.quote = d.newQuote(d.tiers[0])
	size := map[string]*blueprint{}
	for _, b := range p.market.vendors[0].fixed {
		size[b.shape.Name] = b
	}
	// By falling size: large, middle, small, least. 4.4 + 3.3 = 7.7 of 8, 3.5 + 0.7 = 4.2 of 5.
	require.True(t, d.buy(lot{blueprint: size["c8"], machines: 1, packed: []packed{{0, 1}, {2, 1}}}))
	require.True(t, d.buy(lot{blueprint: size["c5"], machines: 1, packed: []packed{{1, 1}, {3, 1}}}))
	require.InDelta(t, 13, d.bill.Cost, 1e-9)

	d.tighten()
	require.InDelta(t, 12, d.bill.Cost, 1e-9, "3.5 and 3.3 changed places")
	cost, pods := 0.0, map[int]int{}
	for i := range d.lots {
		cost += d.lots[i].Cost
		require.Zero(t, shortOfNothing(d.roomOf(&d.lots[i])))
		for _, carried := range d.lots[i].packed {
			pods[carried.batch] += carried.pods
		}
	}
	require.InDelta(t, d.bill.Cost, cost, 1e-9)
	require.Equal(t, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}, pods)
}

// shortOfNothing counts the kinds that are overdrawn.
func shortOfNothing(room vector) (overdrawn int) {
	for _, left := range room {
		if left < 0 {
			overdrawn++
		}
	}
	return overdrawn
}

// What cannot be made smaller is left as it was.
func TestTighteningInVainChangesNothing(t *testing.T) {
	w := tightWorld()
	w.pending("a", 2, "cpu", "3500m")
	p := newPlanner(w.view(0, object.Start), object.Start)
	d := p.market.newDraft(p.batches, evenly[0])
	four := p.market.vendors[0].fixed[3]
	require.True(t, d.buy(lot{blueprint: four, machines: 2, packed: []packed{{0, 1}}}))
	d.tighten()
	require.InDelta(t, 8, d.bill.Cost, 1e-9)
	require.Len(t, d.lots, 2)
	for _, l := range d.lots {
		require.Equal(t, []packed{{0, 1}}, l.packed)
		require.Equal(t, four, l.blueprint)
	}
}

// Pods that pick a machine by its size stay on it.
func TestPodsThatPickASizeStay(t *testing.T) {
	w := tightWorld()
	for _, p := range w.pending("picky", 2, "cpu", "3500m") {
		p.Spec.NodeSelector = map[string]string{"muster.sh/shape": "c9"}
	}
	plan := w.plan()
	require.Len(t, plan.Creates, 1)
	require.Equal(t, "c9", plan.Creates[0].Claim.Spec.Shape)
}
