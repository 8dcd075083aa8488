package simulation

// effort counts what a decision costs, so that one for a huge cluster ends in time without reading a clock: every look at
// a pod, or at pods that are alike, on one machine counts one.
type effort struct {
	looks, most int64
	before      int64 // looks before the bound was set
}

// Afford bounds the effort of the decisions made on the Simulation from now on; 0 is no bound. Nothing is cut short by
// the Simulation itself: who decides asks Spent.
func (s *Simulation) Afford(looks int64) {
	s.effort = effort{most: looks, before: s.Looks()}
}

// Spend counts effort made elsewhere.
func (s *Simulation) Spend(looks int) { s.effort.looks += int64(looks) }

// Spent says whether the effort is used up.
func (s *Simulation) Spent() bool { return s.effort.most > 0 && s.effort.looks >= s.effort.most }

// HalfSpent says whether half of it is.
func (s *Simulation) HalfSpent() bool { return s.effort.most > 0 && s.effort.looks*2 >= s.effort.most }

// Looks is the effort made so far.
func (s *Simulation) Looks() int64 { return s.effort.before + s.effort.looks }
