package capacity

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Simulation is a View in which pods can be put on places and taken away, and machines added that do not exist. It judges
// all hard constraints as kube-scheduler's filter plugins would after the same moves: the four of Fit, host ports, and
// where other pods are (topology spread, pod affinity and anti-affinity).
//
// It is one decision's scratch: not safe for concurrent use, and its View is never changed. Counters are built when the
// first class asks for them, so that a plan without such rules does not pay for them.
type Simulation struct {
	view    *View
	places  []*Place // of the view's nodes, in its order
	byNode  map[string]*Place
	added   []*Place // machines in flight and imagined ones, in the order in which they came; closed ones included
	classes map[classKey]*Class
	byPod   map[*Pod]*Class
	ids     int
	journal []move
	marked  bool
}

// NewSimulation starts from the cluster as it is: every Node of the view is a place, whatever its stage; machines in
// flight are not there until they Arrive.
func NewSimulation(v *View) *Simulation {
	s := &Simulation{
		view: v, places: make([]*Place, 0, len(v.Nodes)), byNode: make(map[string]*Place, len(v.Nodes)),
		classes: map[classKey]*Class{}, byPod: map[*Pod]*Class{},
	}
	for _, n := range v.Nodes {
		p := s.newPlace(n)
		p.Free, p.Classes = n.Free(), v.Classes
		s.places = append(s.places, p)
		s.byNode[n.Name] = p
	}
	return s
}

// Places are the view's nodes in its order, whatever their stage: the caller says which of them may take pods.
func (s *Simulation) Places() []*Place { return s.places }

// On is the place of a node, nil when the view has none of that name.
func (s *Simulation) On(node string) *Place { return s.byNode[node] }

// Pods are the pods of the view on a place, those held there included; what was Put or Taken since is not looked at.
func (s *Simulation) Pods(p *Place) []*Pod {
	if p.Model != nil || p.Node.Name == "" {
		return nil
	}
	return slices.Concat(s.view.Pods[p.Node.Name], s.view.Held[p.Node.Name])
}

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
	s.marked = true
	return Mark(len(s.journal))
}

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

// classKey is what pods of one class have in common.
type classKey struct {
	ask    *Ask
	strict int       // how many preferences count as hard
	own    types.UID // of a pod that no other pod stands for
}
