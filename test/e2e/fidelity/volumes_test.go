package fidelity

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// Of clusters whose pods have volumes, too.
func TestVolumesAreJudgedAsKubeSchedulerJudges(t *testing.T) {
	s, err := newScheduler(t.Context())
	require.NoError(t, err)
	for seed, left := uint64(2_000_001), triples(t)/2; left > 0; seed++ {
		c := newGen(seed).stored()
		n, err := s.compare(t.Context(), c, simulate(c.view()), c.pending())
		require.NoErrorf(t, err, "cluster of seed %d", seed)
		left -= max(n, 1)
	}
}

// sending sends pods with volumes to nodes, one after the other, and takes some back, as a plan does and as
// kube-scheduler does when it chooses a node (Reserve) and when something went wrong after that (Unreserve).
type sending struct {
	*gen
	c    *cluster
	sim  *simulated
	sent []*corev1.Pod
}

func TestSentPodsHaveVolumesPromisedAsKubeSchedulerPromises(t *testing.T) {
	s, err := newScheduler(t.Context())
	require.NoError(t, err)
	for seed, left := uint64(3_000_001), triples(t)/2; left > 0; seed++ {
		g := newGen(seed)
		c := g.stored()
		h := &sending{gen: g, c: c, sim: simulate(c.view())}
		require.NoError(t, s.load(t.Context(), c))
		pods := c.pending()
		for range 5 {
			h.step(t, s)
			asked := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return slices.Contains(h.sent, p) })
			n, err := s.ask(t.Context(), c, h.sim, asked)
			require.NoErrorf(t, err, "cluster of seed %d, %d sent", seed, len(h.sent))
			left -= max(n, 1)
		}
	}
}

func (h *sending) step(t *testing.T, s *scheduler) {
	if len(h.sent) > 0 && h.chance(30) {
		h.recall(t, s)
		return
	}
	waiting := slices.DeleteFunc(h.c.pending(), func(p *corev1.Pod) bool { return slices.Contains(h.sent, p) })
	if len(waiting) == 0 {
		return
	}
	p, n := pick(h.gen, waiting...), pick(h.gen, h.c.nodes...)
	info, err := s.snapshot.Get(n.Name)
	require.NoError(t, err)
	if len(p.Spec.Volumes) > 0 {
		s.binder.send(t.Context(), p, info)
	}
	h.sim.Put(h.sim.Class(h.sim.pods[p.UID]), h.sim.places[n.Name], 1)
	p.Status.NominatedNodeName = n.Name
	h.sent = append(h.sent, p)
	s.look(h.c)
}

// recall takes back a pod that shares no claim with another that was sent: kube-scheduler then forgets what the other
// was promised, which Muster remembers.
func (h *sending) recall(t *testing.T, s *scheduler) {
	i := h.IntN(len(h.sent))
	p := h.sent[i]
	for _, other := range h.c.assumed() {
		if other != p && shareClaim(p, other) {
			return
		}
	}
	s.binder.recall(t.Context(), p, p.Status.NominatedNodeName)
	h.sim.Take(h.sim.Class(h.sim.pods[p.UID]), h.sim.places[p.Status.NominatedNodeName], 1)
	p.Status.NominatedNodeName = ""
	h.sent = slices.Delete(h.sent, i, i+1)
	s.look(h.c)
}

func shareClaim(a, b *corev1.Pod) bool {
	return a.Namespace == b.Namespace && slices.ContainsFunc(a.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && slices.ContainsFunc(b.Spec.Volumes, func(w corev1.Volume) bool {
			return w.PersistentVolumeClaim != nil && w.PersistentVolumeClaim.ClaimName == v.PersistentVolumeClaim.ClaimName
		})
	})
}
