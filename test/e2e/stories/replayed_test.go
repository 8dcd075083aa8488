package stories

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay"
	"github.com/muster-sh/muster/test/e2e/stage"
)

// TestRecordedStoriesAreReplayedAlike: Muster records while the real scheduler places pods; the recording, replayed with
// nobody else there, buys and releases the same machines in the same order.
func TestRecordedStoriesAreReplayedAlike(t *testing.T) {
	for name, act := range map[string]func(*stage.Stage){
		"a burst":                     burstAndEnd,
		"two waves":                   twoWaves,
		"one after the other":         trickle,
		"two pools":                   twoPools,
		"a pod that no pool can take": oneInVain,
		"room that is there":          roomThere,
	} {
		t.Run(name, func(t *testing.T) {
			s := stage.New(t, kit)
			s.Backend("--boot-min=3s", "--boot-median=3s", "--boot-max=4s")
			folder := filepath.Join(s.Logs, "recording")
			muster := s.Place(stage.ReplicaOptions{Flags: append(hashed(s), "--record="+folder)}).Muster
			act(s)
			s.Await(soon, "all machines to be gone", func() error { return noClaims(s) })
			muster.Stop(10 * time.Second)

			was, err := replay.ReadRecording(folder)
			require.NoError(t, err)
			require.Empty(t, was.Damages)
			require.NotEmpty(t, was.Machines)
			is := again(t, was)
			require.Equal(t, inOrder(was.Machines, bought), inOrder(is, bought), "bought, in order")
			require.Equal(t, inOrder(was.Machines, released), inOrder(is, released), "released, in order")
			keepRecording(t, name, folder)
		})
	}
}

// recordingsVariable names the folder that `make recordings` keeps the recordings in.
const recordingsVariable = "MUSTER_E2E_RECORDINGS"

// hashed has names hashed in what is kept.
func hashed(s *stage.Stage) []string {
	if os.Getenv(recordingsVariable) == "" {
		return nil
	}
	key := filepath.Join(s.Logs, "key")
	require.NoError(s.T, os.WriteFile(key, []byte(rand.Text()), 0o600))
	return []string{"--record-hash-key-file=" + key}
}

// keepRecording copies a story's recording to where `go test ./replay -run Golden` finds it.
func keepRecording(t *testing.T, story, folder string) {
	t.Helper()
	to := os.Getenv(recordingsVariable)
	if to == "" {
		return
	}
	to = filepath.Join(to, strings.ReplaceAll(story, " ", "-"))
	require.NoError(t, os.RemoveAll(to))
	require.NoError(t, os.CopyFS(to, os.DirFS(folder)))
}

// goes releases idle nodes of a pool quickly.
func goes(p *v1alpha1.NodePool) {
	p.Spec.ScaleDown = v1alpha1.ScaleDown{IdleAfter: &metav1.Duration{Duration: 5 * time.Second}}
}

// general is a pool of four-core machines.
func general(s *stage.Stage) {
	s.Apply(stage.Pool("general", 20, []v1alpha1.Shape{stage.Shape("four", "cpu", "4", "memory", "8Gi")}, goes))
}

func several(s *stage.Stage, name string, n int, cpu string, edits ...func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, s.Pod(fmt.Sprintf("%s-%d", name, i), stage.Resources("cpu", cpu), edits...))
	}
	return pods
}

func runs(s *stage.Stage, pods []*corev1.Pod) []*corev1.Pod {
	pods = s.Create(pods...)
	s.AwaitRunning(soon, pods...)
	return pods
}

func leave(s *stage.Stage, pods []*corev1.Pod) {
	for _, p := range pods {
		s.Delete(p)
	}
}

func noClaims(s *stage.Stage) error {
	claims, err := s.Claims("")
	if err == nil && len(claims) > 0 {
		return fmt.Errorf("%d claims are left, one is %s", len(claims), claims[0].Name)
	}
	return err
}

func burstAndEnd(s *stage.Stage) {
	general(s)
	leave(s, runs(s, several(s, "burst", 14, "1")))
}

func twoWaves(s *stage.Stage) {
	general(s)
	first := runs(s, several(s, "first", 6, "1"))
	second := runs(s, several(s, "second", 3, "3"))
	leave(s, first)
	s.Await(soon, "the machines of the first wave to be gone", func() error {
		claims, err := s.Claims("general")
		if err == nil && len(claims) > 3 {
			return fmt.Errorf("%d claims are left", len(claims))
		}
		return err
	})
	// What comes just when a machine goes may find it closed or gone: that is chance, and no replay repeats it.
	quiet := time.Now()
	s.Await(soon, "a while in which nothing happens", func() error {
		if d := time.Since(quiet); d < 8*time.Second {
			return fmt.Errorf("only %s are over", d.Round(time.Second))
		}
		return nil
	})
	third := runs(s, several(s, "third", 4, "2"))
	leave(s, append(second, third...))
}

func trickle(s *stage.Stage) {
	general(s)
	var pods []*corev1.Pod
	for i := range 5 {
		pods = append(pods, runs(s, several(s, fmt.Sprintf("drop%d", i), 1, "2500m"))...)
	}
	leave(s, pods)
}

func twoPools(s *stage.Stage) {
	general(s)
	s.Apply(stage.Pool("large", 4, []v1alpha1.Shape{stage.Shape("sixteen", "cpu", "16", "memory", "64Gi")}, goes,
		stage.PoolLabel("example.org/size", "large")))
	small := runs(s, several(s, "small", 3, "1"))
	large := runs(s, several(s, "large", 2, "9", stage.WithNodeSelector("example.org/size", "large")))
	leave(s, small)
	s.Await(soon, "the small machines to be gone", func() error {
		claims, err := s.Claims("general")
		if err == nil && len(claims) > 0 {
			return fmt.Errorf("%d claims are left", len(claims))
		}
		return err
	})
	leave(s, large)
}

func oneInVain(s *stage.Stage) {
	general(s)
	vain := s.Create(several(s, "vain", 1, "64")...)
	leave(s, runs(s, several(s, "served", 5, "1")))
	leave(s, vain)
}

func roomThere(s *stage.Stage) {
	general(s)
	s.Nodes(1, "there", stage.Resources("cpu", "4", "memory", "8Gi"))
	leave(s, runs(s, several(s, "all", 9, "1")))
}

func bought(m replay.RecordedMachine) time.Duration   { return m.Bought }
func released(m replay.RecordedMachine) time.Duration { return m.Released }

// again is what a replay of the recording buys and releases.
func again(t *testing.T, r *replay.Recorded) []replay.RecordedMachine {
	t.Helper()
	var start time.Duration
	w, err := replay.New(replay.Options{
		Pools: r.Pools, Providers: r.Providers, Nodes: r.Nodes, Pods: r.Pods, DaemonSets: r.DaemonSets, Load: r.Load(), Start: &start, Delays: &r.Delays,
	})
	require.NoError(t, err)
	require.NoError(t, w.Run(t.Context()))
	return w.Bought()
}

// together is how far apart things of one batch happen on a loaded machine.
const together = 2500 * time.Millisecond

// inOrder lists what happened. Machines that come or go together have no order among them: they are listed by their names.
func inOrder(machines []replay.RecordedMachine, at func(replay.RecordedMachine) time.Duration) []string {
	sorted := slices.SortedFunc(slices.Values(machines), func(a, b replay.RecordedMachine) int { return cmp.Compare(at(a), at(b)) })
	var batches [][]string
	var last time.Duration
	for i, m := range sorted {
		if i == 0 || at(m)-last > together {
			batches = append(batches, nil)
		}
		last = at(m)
		batches[len(batches)-1] = append(batches[len(batches)-1], m.Pool+"/"+m.Shape)
	}
	for _, b := range batches {
		slices.Sort(b)
	}
	return slices.Concat(batches...)
}
