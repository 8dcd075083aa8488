package promises

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/manifest"
	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/policy"
	"github.com/muster-sh/muster/replay"
	"github.com/muster-sh/muster/test/e2e/world"
)

var (
	alike      = flag.String("alike", "3,4,6,7", "the seeds of the clusters that the real scheduler and the simulated one place, with commas between")
	alikeKinds = flag.String("alike-kinds", "all,-affinity,-namespaces,-volumes", "kinds of rules in these; see the test")
)

// TestTheSimulatedSchedulerPlacesAlike: the same cluster and the same pods, made in the same order, given to Muster with the
// real kube-scheduler and to Muster with the one that replays use. As many pods of each class are bound, and the same machines
// are bought. The clusters that every run asks for are some of those where both agree; README.md says which differ.
func TestTheSimulatedSchedulerPlacesAlike(t *testing.T) {
	chosen, err := world.Parse(*alikeKinds)
	require.NoError(t, err)
	s := newScene(t, batch)
	for text := range strings.SplitSeq(*alike, ",") {
		t.Run("cluster-"+text, func(t *testing.T) {
			seed, err := strconv.ParseUint(text, 10, 64)
			require.NoError(t, err)
			w := world.New(seed, chosen...)
			s := s.part(t)
			defer s.Wipe(*patience)
			defer s.tell(w)
			real, pending := s.place(w)
			simulated := s.simulate(w, pending)
			t.Logf("%d pods in %d nodes: %d bound, bought %v", len(pending), len(w.Nodes), real.pods, real.machines)
			require.Equal(t, real.machines, simulated.machines, "machines, the real scheduler's first")
			require.Equal(t, real.bound, simulated.bound, "bound pods, the real scheduler's first")
		})
	}
}

// batch is long enough for a slow computer to have every pod tried before anything is bought.
const batch = 3 * time.Second

// placement is what came of a cluster.
type placement struct {
	pods     int
	bound    map[string]int // by class
	machines map[string]int // by pool and shape
}

// place has the real scheduler do it. It is paused while the pods are made, one after the other by falling priority, so that
// it finds them in the order in which it tries them.
func (s *scene) place(w *world.World) (placement, []*corev1.Pod) {
	s.T.Helper()
	s.replica.Scheduler.Pause()
	defer s.replica.Scheduler.Resume()
	s.set(w)
	order := slices.SortedStableFunc(slices.Values(w.Pending), func(a, b *corev1.Pod) int {
		return cmp.Compare(world.PriorityClasses()[b.Spec.PriorityClassName], world.PriorityClasses()[a.Spec.PriorityClassName])
	})
	var pending []*corev1.Pod
	for _, p := range order {
		pending = append(pending, s.Create(p)...)
	}
	s.SavePools(filepath.Join(s.folder(w), "pools.yaml"))
	s.SaveCluster(filepath.Join(s.folder(w), "cluster.yaml"))
	s.replica.Scheduler.Resume()

	var last placement
	since := time.Now()
	s.Await(*patience, "nothing to happen for a while", func() error {
		now, err := s.placed(pending)
		if err != nil {
			return err
		}
		if fmt.Sprint(now) != fmt.Sprint(last) {
			last, since = now, time.Now()
		}
		if quiet := time.Since(since); quiet < still {
			return fmt.Errorf("only quiet for %s", quiet.Round(time.Second))
		}
		return nil
	})
	return last, pending
}

// class is what pods are called that are made alike.
func class(p *corev1.Pod) string { return p.Name[:strings.LastIndexByte(p.Name, '-')] }

// still is how long nothing changes once nothing is left to do: longer than a machine boots, and than any batch or back-off.
const still = 10 * time.Second

// placed is what came of it so far; machines that are on their way are an error.
func (s *scene) placed(pending []*corev1.Pod) (placement, error) {
	if err := s.TakeOff(world.StartupTaint); err != nil {
		return placement{}, err
	}
	claims, err := s.Claims("")
	if err != nil {
		return placement{}, err
	}
	p := placement{bound: map[string]int{}, machines: map[string]int{}}
	for _, c := range claims {
		p.machines[c.Spec.Pool+"/"+c.Spec.Shape]++
		if c.Status.State != v1alpha1.ClaimReady {
			return placement{}, fmt.Errorf("claim %s is %s", c.Name, c.Status.State)
		}
	}
	now, err := s.pods()
	if err != nil {
		return placement{}, err
	}
	for _, pod := range pending {
		if got := now[pod.UID]; got != nil && got.Spec.NodeName != "" {
			p.bound[class(pod)]++
			p.pods++
		}
	}
	return p, nil
}

// arrivals are pods that all come at once, in their order.
type arrivals struct{ rest []*corev1.Pod }

func (a *arrivals) Next() (replay.Arrival, error) {
	if len(a.rest) == 0 {
		return replay.Arrival{}, io.EOF
	}
	p := a.rest[0]
	a.rest = a.rest[1:]
	return replay.Arrival{Pod: p}, nil
}

// simulate has the replay's scheduler do it, from the cluster as it was saved before the real one began.
func (s *scene) simulate(w *world.World, pending []*corev1.Pod) placement {
	s.T.Helper()
	pools, err := manifest.ReadPools(filepath.Join(s.folder(w), "pools.yaml"))
	require.NoError(s.T, err)
	cluster, err := manifest.ReadCluster(filepath.Join(s.folder(w), "cluster.yaml"))
	require.NoError(s.T, err)
	waiting := map[types.UID]bool{}
	for _, p := range pending {
		waiting[p.UID] = true
	}
	boot := v1alpha1.BootTime{Min: &metav1.Duration{Duration: 3 * time.Second}, Median: &metav1.Duration{Duration: 3500 * time.Millisecond},
		Max: &metav1.Duration{Duration: 4 * time.Second}}
	bound := map[types.NamespacedName]bool{}
	var start time.Duration
	v, err := replay.New(replay.Options{
		Pools: pools.Pools, Nodes: cluster.Nodes, DaemonSets: cluster.DaemonSets, Namespaces: cluster.Namespaces, Storage: cluster.Storage,
		Providers: []*v1alpha1.Provider{{ObjectMeta: metav1.ObjectMeta{Name: world.Provider},
			Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim, Sim: &v1alpha1.Sim{Boot: boot}}}},
		Pods:  slices.DeleteFunc(cluster.Pods, func(p *corev1.Pod) bool { return waiting[p.UID] }),
		Load:  &arrivals{pending},
		Start: &start, Batch: &policy.Batch{Idle: batch, Max: 20 * time.Second},
		Observe: func(o metav1.Object, _ bool) {
			if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" {
				bound[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = true
			}
		},
	})
	require.NoError(s.T, err)
	v.RunUntil(replay.Zero.Add(2 * time.Minute))
	out := placement{bound: map[string]int{}, machines: map[string]int{}}
	for _, m := range v.Bought() {
		out.machines[m.Pool+"/"+m.Shape]++
	}
	for _, p := range pending {
		if bound[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] {
			out.bound[class(p)]++
			out.pods++
		}
	}
	return out
}
