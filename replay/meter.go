package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/policy"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/sim"
)

// meter counts what a replay shows: pods by state, waits, machines, and how full the bought nodes were over time.
type meter struct {
	agenda *agenda
	api    *api

	states map[lifeState]int
	waits  []float64 // seconds from arrival to binding
	never  int       // pods that left before they were placed

	machines map[machineKey]*bought
	byNode   map[string]*bought // the machine that last had this node name
	order    []*bought

	nodes  map[string]amount.Resources // allocatable of the bought nodes that exist
	usage  map[types.UID]usage         // of the pods on them
	peak   int
	level  levels
	totals levels
	last   time.Time
}

type machineKey struct {
	claim   types.UID
	attempt int32
}

// bought is one machine, from its creation to its end.
type bought struct {
	pool, shape string
	cost        float64 // for an hour
	watts       float64
	from, to    time.Time
	used        bool // a pod that is no DaemonSet's was bound to its node
}

type usage struct {
	node string
	take amount.Resources
}

// levels are amounts now, or amounts times seconds.
type levels struct {
	nodes, cpu, memory, cpuUsed, memoryUsed float64
}

func newMeter(a *agenda, api *api) *meter {
	m := &meter{
		agenda: a, api: api, states: map[lifeState]int{}, machines: map[machineKey]*bought{}, byNode: map[string]*bought{},
		nodes: map[string]amount.Resources{}, usage: map[types.UID]usage{}, last: a.now,
	}
	api.watch(0, m.see)
	return m
}

// moved counts a life in its new state.
func (m *meter) moved(from, to lifeState, l *life) {
	m.states[from]--
	m.states[to]++
	switch {
	case to == lifeRuns && l.placed.Equal(m.agenda.now):
		m.waits = append(m.waits, l.placed.Sub(l.arrived).Seconds())
	case to == lifeLeft && l.placed.IsZero():
		m.never++
	}
}

// saw takes note of a machine the first time it is seen.
func (m *meter) saw(machine provider.Machine) {
	key := machineKey{machine.ClaimUID, machine.Attempt}
	if m.machines[key] != nil {
		return
	}
	b := &bought{from: machine.Created}
	if c := m.api.claims[machine.Claim]; c != nil && c.UID == machine.ClaimUID {
		b.pool, b.shape = c.Spec.Pool, c.Spec.Shape
		s := m.shapeOf(c)
		b.cost, b.watts = policy.Cost(s), float64(s.Watts)
	}
	m.machines[key] = b
	m.byNode[machine.NodeName] = b
	m.order = append(m.order, b)
}

// shapeOf is the shape of a claim; a size of a range has no price and no watts of its own.
func (m *meter) shapeOf(c *v1alpha1.NodeClaim) v1alpha1.Shape {
	if pool := m.api.pools[c.Spec.Pool]; pool != nil {
		for _, s := range pool.Spec.Template.Shapes {
			if s.Name == c.Spec.Shape {
				return s
			}
		}
	}
	return v1alpha1.Shape{Resources: c.Spec.Resources}
}

func (m *meter) gone(machine sim.Machine) {
	m.saw(machine.Machine)
	m.machines[machineKey{machine.ClaimUID, machine.Attempt}].to = m.agenda.now
}

// settle adds what the levels were since the last change.
func (m *meter) settle() {
	d := m.agenda.now.Sub(m.last).Seconds()
	m.last = m.agenda.now
	m.totals.nodes += m.level.nodes * d
	m.totals.cpu += m.level.cpu * d
	m.totals.memory += m.level.memory * d
	m.totals.cpuUsed += m.level.cpuUsed * d
	m.totals.memoryUsed += m.level.memoryUsed * d
}

func (m *meter) see(c change) {
	switch o := c.object().(type) {
	case *corev1.Node:
		m.seeNode(c, o)
	case *corev1.Pod:
		m.seePod(c, o)
	}
}

// seeNode counts the nodes of machines: those are the ones that a machine was seen for.
func (m *meter) seeNode(c change, n *corev1.Node) {
	if _, ours := m.byNode[n.Name]; !ours {
		return
	}
	m.settle()
	if old, ok := m.nodes[n.Name]; ok {
		m.level.nodes--
		m.level.cpu -= float64(old.MilliCPU)
		m.level.memory -= float64(old.Memory)
		delete(m.nodes, n.Name)
	}
	if c.gone() {
		return
	}
	r := amount.Of(n.Status.Allocatable)
	m.nodes[n.Name] = r
	m.level.nodes++
	m.level.cpu += float64(r.MilliCPU)
	m.level.memory += float64(r.Memory)
	m.peak = max(m.peak, len(m.nodes))
}

func (m *meter) seePod(c change, p *corev1.Pod) {
	if p.Spec.NodeName == "" {
		return
	}
	old, counted := m.usage[p.UID]
	counts := !c.gone() && !finished(p)
	switch {
	case counted && !counts:
		m.settle()
		m.level.cpuUsed -= float64(old.take.MilliCPU)
		m.level.memoryUsed -= float64(old.take.Memory)
		delete(m.usage, p.UID)
	case !counted && counts:
		b := m.byNode[p.Spec.NodeName]
		if b == nil {
			return
		}
		m.settle()
		pod := capacity.PodOf(p)
		b.used = b.used || !pod.Resident()
		m.usage[p.UID] = usage{node: p.Spec.NodeName, take: pod.Usage}
		m.level.cpuUsed += float64(pod.Usage.MilliCPU)
		m.level.memoryUsed += float64(pod.Usage.Memory)
	}
}
