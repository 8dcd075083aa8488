package simulation

// move is one step that can be undone.
type move struct {
	place *Place
	class *Class // nil where the place itself came or went
	n     int    // pods put; negative when taken; 1 for a place that came, -1 for one that went
}

// Mark is a moment to which the Simulation can go back.
type Mark int

// Mark remembers this moment.
func (s *Simulation) Mark() Mark {
	if !s.marked {
		s.marked, s.journal = true, make([]move, 0, min(movesForEach*len(s.view.Shortfalls), mostMovesAtOnce))
	}
	return Mark(len(s.journal))
}

// There is room for so many moves from the start: a plan makes some for each pod.
const (
	movesForEach    = 8
	mostMovesAtOnce = 8192
)

// Rewind undoes everything since the mark, the newest first: what was put is taken, what was taken is put back, machines
// that were opened since are gone. Their Place values must not be used any more. Cost: the number of moves undone.
func (s *Simulation) Rewind(m Mark) {
	for len(s.journal) > int(m) {
		last := s.journal[len(s.journal)-1]
		s.journal = s.journal[:len(s.journal)-1]
		switch {
		case last.class != nil:
			s.count(last.class, last.place, -last.n)
		case last.n > 0:
			s.leave(last.place)
		default:
			s.come(last.place)
		}
	}
}

func (s *Simulation) note(m move) {
	if s.marked {
		s.journal = append(s.journal, m)
	}
}
