package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func ofPriority(p *corev1.Pod, priority int32) *corev1.Pod {
	p.Spec.Priority = &priority
	return p
}

// crowdedWorld is a node that is full of cheap pods, a pool that may not grow, and an important pod after ten seconds.
func crowdedWorld(t *testing.T, notes *[]Note) *World {
	load := make([]Arrival, 0, 5)
	for i := range 4 {
		load = append(load, Arrival{Pod: ofPriority(pod(fmt.Sprint("cheap-", i), "1", "1Gi"), int32(i)), Runs: 2 * time.Minute})
	}
	load = append(load, Arrival{At: 10 * time.Second, Pod: ofPriority(pod("important", "2", "1Gi"), 100), Runs: time.Minute})
	d := DefaultDelays()
	d.PodStop = 20 * time.Second
	return newWorld(t, Options{
		Pools: []*v1alpha1.NodePool{poolOf("general", 0, shape("small", "4", "8Gi"))}, Delays: &d,
		Nodes: []*corev1.Node{nodeNamed("a", "4", "8Gi")},
		Note:  func(n Note) { *notes = append(*notes, n) },
	}, load...)
}

// named are the pods of the notes with a reason, in their order.
func named(notes []Note, reason string) []string {
	var names []string
	for _, n := range notes {
		if n.Reason == reason && n.Kind == "Pod" {
			names = append(names, n.Name)
		}
	}
	return names
}

func TestReplayMakesRoomForImportantPods(t *testing.T) {
	var notes []Note
	w := crowdedWorld(t, &notes)
	x := newWitness(w)
	x.run(t)
	require.ElementsMatch(t, []string{"cheap-0", "cheap-1"}, named(notes, "Preempted"), "the least important, and no more than it takes")
	require.Equal(t, []string{"important"}, named(notes, "Preempting"))
	require.Equal(t, "important", named(notes, NoteBound)[4], "it comes before those who had to leave")
	require.Equal(t, 5, w.Summary().Pods.Finished, "who left comes again, as its controller makes it")
}

// Whenever Muster is killed, the important pod gets its room, and exactly two pods leave for it.
func TestReplayOfACrashAmidAPreemption(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 17))
	for range 30 {
		at := 10*time.Second + time.Duration(r.IntN(25_000))*time.Millisecond
		t.Run(at.String(), func(t *testing.T) {
			var notes []Note
			w := crowdedWorld(t, &notes)
			x := newWitness(w)
			require.True(t, w.RunUntil(Zero.Add(at)))
			w.Revive()
			x.run(t)
			require.ElementsMatch(t, []string{"cheap-0", "cheap-1"}, named(notes, "Preempted"))
			require.Contains(t, named(notes, NoteFinished), "important")
		})
	}
}
