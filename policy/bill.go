package policy

import "slices"

// Bill sums up a draft of a plan, for the choice among several.
type Bill struct {
	// Served counts the pods that get a machine. By falling priority: first all of that priority, then those in the
	// pools of each weight, the highest first.
	Served []int
	// Cost of all machines for one hour, and their number.
	Cost     float64
	Machines int
}

// Better says whether a is the better draft: more pods served, the most important first and in the pools preferred;
// then the lower cost; then fewer machines. Both bills count the same priorities and weights.
func (a Bill) Better(b Bill) bool {
	if served := slices.Compare(a.Served, b.Served); served != 0 {
		return served > 0
	}
	if cost := compare(a.Cost, b.Cost); cost != 0 {
		return cost < 0
	}
	return a.Machines < b.Machines
}
