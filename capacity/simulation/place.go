package simulation

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/topology"
	"github.com/muster-sh/muster/capacity/volume"
)

// Place is where pods can be put: a node of the view, a machine in flight, or one that is only imagined.
type Place struct {
	Node *capacity.Node
	// Claim is set on a machine in flight.
	Claim *v1alpha1.NodeClaim
	// Model is set on an imagined machine.
	Model *Model
	// Free is the room that is left; Put and Take keep it. A caller may correct it (room it gives back to the pod that the
	// room is kept for, say): Rewind undoes moves, not such corrections.
	Free amount.Resources
	// Classes are served by somebody else on a node that exists; for one that does not they cannot be promised.
	Classes capacity.Classes

	site    *topology.Site // nil until there are counters
	daemons []*Class       // of DaemonSets whose pods will come
	ports   ports
	volumes *volume.Site // nil until there are volumes
	at      int          // in Simulation.sprung
	field   bool         // see Field
}

// Arrive makes a machine in flight a place, as it will be once it has started; from now on it counts as a domain of every
// topology. A machine whose Node has registered is a place already, and that is returned. Room that the view counts as
// reserved for the claim is free: the caller puts those pods one by one.
func (s *Simulation) Arrive(c *capacity.Claim) *Place {
	p := s.byNode[c.Node.Name]
	if p == nil || p.Claim != c.Object {
		p = &Place{Node: afterStart(c), Claim: c.Object}
		p.Free = p.Node.Unreserved()
		s.softTaints = s.softTaints || p.Node.Avoidable()
		s.come(p)
		s.note(move{place: p, n: 1})
	}
	return p
}

// afterStart is a machine as it will be once it has started.
func afterStart(c *capacity.Claim) *capacity.Node {
	if spec := &c.Node.Object.Spec; len(spec.Taints) == 0 && !spec.Unschedulable {
		return c.Node
	}
	return capacity.WithoutStartup(c.Node, c.Object.Spec.StartupTaints)
}

// Model is a machine that could be bought, prepared once, so that opening many like it is cheap.
type Model struct {
	Node *capacity.Node
	// Free is the room of an empty machine, what DaemonSets take off.
	Free amount.Resources

	admits  []int8 // by class: 1 yes, -1 no, 0 not judged yet
	profile *topology.Profile
	daemons []*Class
	known   bool // daemons are
}

// Model prepares a blueprint. Labels whose value is the blueprint's own name (kubernetes.io/hostname, the claim's) are
// taken to differ between any two machines made of it; a rule about one name is judged for the blueprint's.
func (s *Simulation) Model(n *capacity.Node) *Model {
	s.softTaints = s.softTaints || n.Avoidable()
	return &Model{Node: n, Free: n.Free(), profile: topology.NewProfile(n.Object)}
}

// Open adds one machine of a model, empty but for its DaemonSet pods.
func (s *Simulation) Open(m *Model) *Place {
	p := &Place{Node: m.Node, Model: m, Free: m.Free.Clone()}
	s.come(p)
	s.note(move{place: p, n: 1})
	return p
}

// Field adds machines of a model without number: every pod that is put there has one to itself until it is taken away.
// What such a place answers is what an empty machine of the model would. Pods with volumes must not be put there.
func (s *Simulation) Field(m *Model) *Place {
	p := &Place{Node: m.Node, Model: m, Free: m.Free, field: true}
	s.come(p)
	s.note(move{place: p, n: 1})
	return p
}

// IsField says whether the place is a Field.
func (p *Place) IsField() bool { return p.field }

// Close removes a machine that was opened, or arrived. The pods put on it must have been taken away before.
func (s *Simulation) Close(p *Place) {
	s.leave(p)
	s.note(move{place: p, n: -1})
}

// come counts a place as there, leave as gone.
func (s *Simulation) come(p *Place) {
	p.at = len(s.sprung)
	s.sprung = append(s.sprung, p)
	if s.others != nil {
		s.appear(p)
	}
}

func (s *Simulation) leave(p *Place) {
	last := len(s.sprung) - 1
	s.sprung[p.at], s.sprung[last].at = s.sprung[last], p.at
	s.sprung = s.sprung[:last]
	if s.others == nil {
		return
	}
	for _, d := range p.daemons {
		s.furnish(d, p, -1)
	}
	s.others.Close(p.site)
}

// appear shows a place to the counters, with the DaemonSet pods that will be on it.
func (s *Simulation) appear(p *Place) {
	switch {
	case p.site != nil:
		s.others.Reopen(p.site)
	case p.field:
		p.site = s.others.Field(p.Model.profile)
		p.daemons = p.Model.residents(s)
	case p.Model != nil:
		p.site = s.others.Open(p.Model.profile)
		p.daemons = p.Model.residents(s)
	default:
		p.site = s.others.Add(p.Node.Object)
		p.daemons = s.residents(p.Node)
	}
	for _, d := range p.daemons {
		s.furnish(d, p, 1)
	}
}

// expectDaemons counts the DaemonSet pods that a machine which has registered still lacks.
func (s *Simulation) expectDaemons(p *Place) {
	there := map[types.UID]bool{}
	for _, pod := range s.Pods(p) {
		there[pod.Owner] = true
	}
	for _, d := range s.view.Daemons {
		if !there[d.UID] && s.seen(d) && d.Matches(p.Node) {
			s.stand(s.Class(d.Pod()), p, 1)
		}
	}
}

// seen says whether anybody looks at a DaemonSet's pods.
func (s *Simulation) seen(d *capacity.Daemon) bool { return s.ruled || len(d.Ask.Ports) > 0 }

func (m *Model) residents(s *Simulation) []*Class {
	if !m.known {
		m.daemons, m.known = s.residents(m.Node), true
	}
	return m.daemons
}

// residents are the classes of the DaemonSet pods that a machine will have, as far as anybody looks at them: for their
// room the Node says what is set aside.
func (s *Simulation) residents(n *capacity.Node) []*Class {
	var out []*Class
	for _, d := range s.view.Daemons {
		if s.seen(d) && d.Matches(n) {
			out = append(out, s.Class(d.Pod()))
		}
	}
	return out
}
