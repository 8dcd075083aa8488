package fidelity

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// triples is how many (pod, node, cluster) triples are compared: FIDELITY_TRIPLES, or enough for an ordinary test run.
func triples(t testing.TB) int {
	text := os.Getenv("FIDELITY_TRIPLES")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "FIDELITY_TRIPLES is a number")
	return n
}

// Muster's Simulation says of every pod and node what kube-scheduler's filters say.
func TestSimulationAgreesWithKubeScheduler(t *testing.T) {
	s, err := newScheduler(t.Context())
	require.NoError(t, err)
	fitting := 0
	for seed, left := uint64(1), triples(t); left > 0; seed++ {
		c := newGen(seed).cluster()
		n, err := s.compare(t.Context(), c, simulate(c.view()), c.pending())
		require.NoErrorf(t, err, "cluster of seed %d", seed)
		left -= max(n, 1)
		fitting += n
	}
	t.Logf("%d triples", fitting)
}
