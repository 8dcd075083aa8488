package capacity

import (
	"github.com/muster-sh/muster/api/v1alpha1"
)

// Place is where pods can be put: a node of the view, a machine in flight, or one that is only imagined.
type Place struct {
	Node *Node
	// Claim is set on a machine in flight.
	Claim *v1alpha1.NodeClaim
	// Model is set on an imagined machine.
	Model *Model
	// Free is the room that is left; Put and Take keep it. A caller may correct it (room it gives back to the pod that the
	// room is kept for, say): Rewind undoes moves, not such corrections.
	Free Resources
	// Classes are served by somebody else on a node that exists; for one that does not they cannot be promised.
	Classes Classes

	index  int
	closed bool
}

func (s *Simulation) newPlace(n *Node) *Place {
	p := &Place{Node: n, index: len(s.places) + len(s.added)}
	return p
}

// Arrive makes a machine in flight a place, as it will be once it has started; from now on it counts as a domain of every
// topology. A machine whose Node has registered takes the place of that node. Room that the view counts as reserved for
// the claim is free here: the caller puts those pods one by one.
func (s *Simulation) Arrive(c *Claim) *Place {
	n := withoutStartup(c.Node, c.Object.Spec.StartupTaints)
	p := s.newPlace(n)
	p.Claim = c.Object
	p.Free = n.Allocatable.Clone()
	p.Free.Sub(n.Used)
	p.Free.Sub(n.Held)
	p.Free.Sub(n.Daemons)
	s.added = append(s.added, p)
	s.come(p)
	s.note(move{place: p, n: 1})
	return p
}

// Model is a machine that could be bought, prepared once, so that opening many like it is cheap.
type Model struct {
	Node *Node
	// Free is the room of an empty machine, what DaemonSets take off.
	Free Resources

	admits []int8 // by class: 1 yes, -1 no, 0 not judged yet
}

// Model prepares a blueprint. Labels whose value is the blueprint's own name (kubernetes.io/hostname, the claim's) are
// taken to differ between any two machines made of it; a rule about one name is judged for the blueprint's.
func (s *Simulation) Model(n *Node) *Model { return &Model{Node: n, Free: n.Free()} }

// Open adds one machine of a model, empty but for its DaemonSet pods.
func (s *Simulation) Open(m *Model) *Place {
	p := s.newPlace(m.Node)
	p.Model, p.Free = m, m.Free.Clone()
	s.added = append(s.added, p)
	s.come(p)
	s.note(move{place: p, n: 1})
	return p
}

// Close removes a machine that was opened. The pods put on it must have been taken away before.
func (s *Simulation) Close(p *Place) {
	s.leave(p)
	s.note(move{place: p, n: -1})
}

// come counts a place as there, leave as gone.
func (s *Simulation) come(p *Place) { p.closed = false }

func (s *Simulation) leave(p *Place) { p.closed = true }
