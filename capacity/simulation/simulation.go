package simulation

import (
	"slices"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/topology"
	"github.com/muster-sh/muster/capacity/volume"
)

// Simulation is a View in which pods can be put on places and taken away, and machines added that do not exist. It judges
// all hard constraints as kube-scheduler's filter plugins would after the same moves: the four of Fit, host ports,
// volumes, and where other pods are (topology spread, pod affinity and anti-affinity).
//
// It is one decision's scratch: not safe for concurrent use, and its View is never changed. Counters are built when the
// first class asks for them, so that a plan without such rules does not pay for them. Every pod whose rules matter must be
// in the View: bound, held, reserved or short.
type Simulation struct {
	view    *capacity.View
	places  []*Place // of the view's nodes, in its order
	byNode  map[string]*Place
	sprung  []*Place // machines in flight and imagined ones, while they are there
	classes map[classKey]*Class
	byPod   map[*capacity.Pod]*Class // what Class answered
	ids     int
	journal []move
	marked  bool
	// softTaints says that some node or model has a PreferNoSchedule taint.
	softTaints bool
	effort     effort

	others *topology.Cluster // nil until somebody asks for a class
	queue  []int32           // see Queue
	ruled  bool              // some pod has a rule about others

	storage *volume.State // nil until a pod with volumes is looked at
}

// New starts from the cluster as it is: every Node of the view is a place, whatever its stage; one that is still
// starting is taken as it will be after its start. Machines in flight without a Node are not there until they Arrive.
func New(v *capacity.View) *Simulation {
	s := &Simulation{
		view: v, places: make([]*Place, 0, len(v.Nodes)), byNode: make(map[string]*Place, len(v.Nodes)),
		classes: map[classKey]*Class{}, byPod: make(map[*capacity.Pod]*Class, len(v.Shortfalls)),
	}
	starting := map[string]*capacity.Claim{}
	for _, c := range v.Claims {
		if c.Coming() {
			starting[c.Object.Name] = c
		}
	}
	for _, n := range v.Nodes {
		p := &Place{Node: n, Free: n.Free(), Classes: v.Classes}
		if c := starting[n.Claim]; n.Stage != capacity.Open && c != nil {
			p = &Place{Node: afterStart(c), Claim: c.Object}
			p.Free = p.Node.Unreserved()
		}
		s.softTaints = s.softTaints || p.Node.Avoidable()
		s.places = append(s.places, p)
		s.byNode[n.Name] = p
		if s.byNode[p.Node.Name] == nil {
			s.byNode[p.Node.Name] = p // a machine in flight that is not yet, or no longer, what registered
		}
	}
	return s
}

// Places are the view's nodes in its order, whatever their stage: the caller says which of them may take pods.
func (s *Simulation) Places() []*Place { return s.places }

// On is the place of a node, nil when the view has none of that name.
func (s *Simulation) On(node string) *Place { return s.byNode[node] }

// Pods are the pods of the view on a place, those held there included; what was Put or Removed since is not looked at.
func (s *Simulation) Pods(p *Place) []*capacity.Pod {
	if s.byNode[p.Node.Name] != p {
		return nil
	}
	return slices.Concat(s.view.Pods[p.Node.Name], s.view.Held[p.Node.Name])
}

// standing are all pods of the view that are somewhere, with the sites of their places.
func (s *Simulation) standing(yield func(*topology.Site, topology.Subject) bool) {
	for _, p := range s.places {
		for _, pods := range [][]*capacity.Pod{s.view.Pods[p.Node.Name], s.view.Held[p.Node.Name]} {
			for _, pod := range pods {
				if !yield(p.site, pod.Subject()) {
					return
				}
			}
		}
	}
}

// topology makes the counters of where pods are, empty so far: every place is known to them from now on.
func (s *Simulation) topology() *topology.Cluster {
	if s.others != nil {
		return s.others
	}
	s.others = topology.NewCluster(topology.Namespaces(s.view.Namespaces), s.standing)
	for _, p := range s.places {
		p.site = s.others.Add(p.Node.Object)
	}
	for _, f := range s.view.Shortfalls {
		s.others.Expect(f.Pod.Ask.Rules)
	}
	for _, pods := range s.view.Reserved {
		for _, pod := range pods {
			s.others.Expect(pod.Ask.Rules)
		}
	}
	for _, d := range s.view.Daemons {
		s.others.Expect(d.Ask.Rules)
	}
	s.ruled = s.others.Ruled()
	for _, p := range s.places {
		if p.Claim != nil {
			s.expectDaemons(p)
		}
	}
	for _, p := range s.sprung {
		s.appear(p)
	}
	return s.others
}
