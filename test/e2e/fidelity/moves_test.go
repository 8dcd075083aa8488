package fidelity

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/amount"
	"github.com/muster-sh/muster/capacity/simulation"
)

// history moves pods in a cluster and in a Simulation of how it was at first.
type history struct {
	*gen
	c   *cluster
	sim *simulated
}

// After any moves (pods bound, pods taken away, machines added and removed, moves undone) a Simulation answers as
// kube-scheduler does of the cluster that the moves would have made.
func TestMovesAreCountedAsKubeSchedulerWould(t *testing.T) {
	s, err := newScheduler(t.Context())
	require.NoError(t, err)
	for seed, left := uint64(1_000_001), triples(t)/2; left > 0; seed++ {
		g := newGen(seed)
		c := g.cluster()
		h := &history{gen: g, c: c, sim: simulate(c.view())}
		waiting := c.pending()
		for range 6 {
			h.step()
			n, err := s.compare(t.Context(), h.c, h.sim, waiting)
			require.NoErrorf(t, err, "cluster of seed %d", seed)
			left -= max(n, 1)
		}
	}
}

func (h *history) step() {
	switch h.IntN(6) {
	case 0, 1:
		h.bind()
	case 2:
		h.evict()
	case 3, 4:
		h.open()
	case 5:
		h.tryAndUndo()
	}
}

// bind puts a pending pod's twin on any node, whether it fits or not.
func (h *history) bind() {
	waiting := h.c.pending()
	if len(waiting) == 0 || len(h.c.nodes) == 0 {
		return
	}
	p, n := pick(h.gen, waiting...), pick(h.gen, h.c.nodes...)
	h.sim.Put(h.sim.Class(h.sim.pods[p.UID]), h.sim.places[n.Name], 1)
	twin := p.DeepCopy()
	h.count++
	twin.Name, twin.Spec.NodeName = fmt.Sprintf("twin%d", h.count), n.Name
	twin.UID = ""
	h.c.pods = append(h.c.pods, twin)
}

// evict takes away a pod that was there from the start.
func (h *history) evict() {
	for i, p := range h.c.pods {
		place := h.sim.places[p.Spec.NodeName+p.Status.NominatedNodeName]
		known := h.sim.pods[p.UID]
		if p.UID == "" || place == nil || known == nil || len(h.c.pending()) > 0 && h.chance(70) {
			continue
		}
		h.sim.Remove(known, place)
		delete(h.sim.pods, p.UID)
		h.c.pods = append(h.c.pods[:i:i], h.c.pods[i+1:]...)
		return
	}
}

// open adds a machine.
func (h *history) open() {
	n := h.node(fmt.Sprintf("new%d", len(h.c.nodes)))
	h.sim.places[n.Name] = h.sim.Open(h.sim.Model(blueprint(n)))
	h.c.nodes = append(h.c.nodes, n)
}

func blueprint(n *corev1.Node) *capacity.Node {
	return &capacity.Node{Name: n.Name, Object: n, Allocatable: amount.Of(n.Status.Allocatable)}
}

// tryAndUndo makes moves that leave no trace.
func (h *history) tryAndUndo() {
	c, put, count, left := *h.c, h.c.pods, h.count, h.sim.places
	h.sim.places = map[string]*simulation.Place{}
	for name, p := range left {
		h.sim.places[name] = p
	}
	h.c.pods, h.c.nodes = append([]*corev1.Pod(nil), put...), append([]*corev1.Node(nil), c.nodes...)
	mark := h.sim.Mark()
	for range 3 {
		pick(h.gen, h.open, h.bind, h.bind)()
	}
	h.sim.Rewind(mark)
	*h.c, h.sim.places, h.count = c, left, count
}
