package planner

import "github.com/muster-sh/muster/policy"

// style is how a draft chooses.
type style struct {
	goal policy.Goal
	// focus is how much a pod has to suit the room that is left for it to be picked before a larger one. 0 packs the
	// batches in their order instead, so that no pod takes the room of a more important one.
	focus int
	// all compares all machines on sale, not only those that promise most.
	all bool
}

// The drafts that are tried. One that packs evenly is hard to beat on cost; the largest machines, filled with the largest
// pods first, sometimes waste less of the last of them. Where the best serves all that can be served, each pod in the best
// pool that takes it, those in order are not looked at; under limits they serve the most important pods first.
var (
	evenly  = []style{{goal: policy.Cheap, focus: 3}, {goal: policy.Cheap, focus: 1}, {goal: policy.Large, focus: 2}, {goal: policy.Large}}
	inOrder = []style{{goal: policy.Cheap, all: true}, {goal: policy.Large, all: true}}
)

// oneByOne is for pods that others keep apart or together: each of them is judged, and one draft has to do.
var oneByOne = evenly[:1]

// bestDraft buys for the batches in each style and keeps the best result.
func (m *market) bestDraft(batches []*batch) *draft {
	var best *draft
	m.quotes = map[int]*quote{}
	try := func(styles []style) {
		for _, s := range styles {
			d := m.newDraft(batches, s)
			d.fillAll()
			if best == nil || d.bill.Better(best.bill) {
				best = d
			}
			if best.willDo() || m.sim.Spent() {
				return
			}
		}
	}
	if anySocial(batches) {
		try(oneByOne)
	} else {
		try(evenly)
	}
	if !m.sim.Spent() && !best.complete() {
		try(inOrder)
	}
	best.tighten()
	return best
}

// A draft that took muchEffort is not followed by another where its cost is within closeEnough of the least there is.
const (
	muchEffort  = 1_000_000
	closeEnough = 0.01
)

func (d *draft) willDo() bool {
	return d.effort > muchEffort && d.bill.Cost <= d.floor()*(1+closeEnough) && d.complete()
}

// floor is what all pods are worth to the first tier: less than that they cost in no plan that buys there.
func (d *draft) floor() float64 {
	if len(d.tiers) == 0 || d.quotes[0] == nil {
		return 0
	}
	return d.quotes[0].value(d.quotes[0].left)
}

// complete says whether every pod that any machine takes is served in the first tier that has one.
func (d *draft) complete() bool {
	want := make([]int, len(d.bill.Served))
	for i, b := range d.batches {
		for tier, sellers := range d.tiers {
			if anyTakes(sellers, b.class) {
				want[d.ranks[i]] += len(b.pods)
				want[d.ranks[i]+1+tier] += len(b.pods)
				break
			}
		}
	}
	for i := range want {
		if d.bill.Served[i] < want[i] {
			return false
		}
	}
	return true
}

func anyTakes(sellers []*vendor, c *class) bool {
	for _, s := range sellers {
		if s.stop.Code != "" {
			continue
		}
		for _, b := range s.models() {
			if b.takes(c) {
				return true
			}
		}
	}
	return false
}
