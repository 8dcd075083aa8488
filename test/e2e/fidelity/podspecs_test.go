package fidelity

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The pods that people really run, judged on generated clusters, where such a collection is at hand: PODSPECS, or the
// folder beside the project. One JSON object a line, the pod under "pod".
func TestPodSpecsOfPublicRepositories(t *testing.T) {
	s, err := newScheduler(t.Context())
	require.NoError(t, err)
	for i, p := range podSpecs(t) {
		g := newGen(uint64(2_000_000 + i))
		c := g.cluster()
		p.UID, p.Generation, p.ResourceVersion = types.UID("spec"), 1, "1"
		p.Spec.SchedulerName, p.Spec.NodeName = schedulerName, ""
		p.Status = corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}}
		c.pods = append(c.pods, p)
		for round := range 3 {
			_, err := s.compare(t.Context(), c, simulate(c.view()), []*corev1.Pod{p})
			require.NoErrorf(t, err, "line %d, round %d: %s", i+1, round, p.Name)
			twin := p.DeepCopy() // its own kind is there already
			twin.UID, twin.Name = types.UID(p.Name+"-twin"+string(rune('0'+round))), p.Name+"-twin"
			twin.Spec.NodeName = pick(g, c.nodes...).Name
			c.pods = append(c.pods, twin)
		}
	}
}

func podSpecs(t *testing.T) []*corev1.Pod {
	path := os.Getenv("PODSPECS")
	if path == "" {
		path = "../../../../shared/data/podspecs/pods.jsonl"
	}
	file, err := os.Open(path)
	if os.IsNotExist(err) {
		return []*corev1.Pod{{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}} // nothing else at hand
	}
	require.NoError(t, err)
	defer file.Close()
	var pods []*corev1.Pod
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var entry struct{ Pod *corev1.Pod }
		require.NoError(t, json.Unmarshal(lines.Bytes(), &entry))
		pods = append(pods, entry.Pod)
	}
	require.NoError(t, lines.Err())
	return pods
}
