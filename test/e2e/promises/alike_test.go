package promises

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
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
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/world"
)

var (
	alike      = flag.Int("alike", 4, "how many clusters the real scheduler and the simulated one place; -seed is the first one's")
	alikeKinds = flag.String("alike-kinds", "all,-affinity,-namespaces,-volumes", "kinds of rules in these; see the test")
)

// TestTheSimulatedSchedulerPlacesAlike: the same cluster, the same pods, made in the same order, and machines that boot equally
// long and come in the same order, given to Muster with the real kube-scheduler and to Muster with the one that replays use.
// As many pods of each class are bound, and the same machines are ordered, in the same order.
//
// In some clusters the real scheduler comes to one thing or another by itself, by milliseconds: of seed 14 it bound 40 or 41 pods.
// Its log says that while a node opens, in two writes, those tried between them are refused and the next has the room; how many that
// are depends on how long an attempt, a write and a watch take. So the simulated one is asked with several such times. Where they
// make no difference, which is so in most clusters, there is one answer; otherwise the real one's has to be among them.
func TestTheSimulatedSchedulerPlacesAlike(t *testing.T) {
	chosen, err := world.Parse(*alikeKinds)
	require.NoError(t, err)
	s := newScene(t, batch, "--boot-min="+boot.String(), "--boot-median="+boot.String(), "--boot-max="+boot.String(), "--apart="+apart.String())
	for i := range uint64(*alike) {
		t.Run(fmt.Sprintf("cluster-%d", *first+i), func(t *testing.T) {
			w := world.New(*first+i, chosen...)
			for _, p := range w.Pools {
				p.Spec.Template.StartupTaints = []corev1.Taint{{Key: world.StartupTaint, Effect: corev1.TaintEffectNoSchedule}}
			}
			s := s.part(t)
			defer s.Wipe(*patience)
			defer s.tell(w)
			real, pending := s.place(w)
			t.Logf("%d pods in %d nodes: %d bound, bought %v", len(pending), len(w.Nodes), len(real.bound), real.machines)
			outcomes := map[string]int{}
			for _, d := range timings() {
				simulated := s.simulate(w, pending, d)
				outcomes[simulated.outcome()]++
				if simulated.outcome() == real.outcome() && !slices.Equal(simulated.pods(), real.pods()) {
					t.Logf("another pod of a class: %v", real.elsewhere(simulated))
				}
			}
			t.Logf("%d outcomes of %d simulations", len(outcomes), len(timings()))
			require.Contains(t, outcomes, real.outcome())
		})
	}
}

// batch is long enough for a slow computer to have every pod tried before anything is bought.
const batch = 3 * time.Second

// Machines are a part of the input: they boot equally long, and their Nodes come one after the other by name. Each has a startup
// taint for so long that every pod has been tried with it there, and there is time for every back-off to end before the next one comes:
// a Node registers, is labelled, becomes ready and loses its taints within a quarter of a second, and who is tried in which part of
// that would be chance.
const (
	boot  = 3 * time.Second
	slack = 3 * time.Second
	apart = slack + 3*time.Second
)

// placement is what came of a cluster.
type placement struct {
	bound    map[string]string // the nodes of those that have one, by namespace and name
	machines [][]string        // pools and shapes of what was ordered together, in order
}

// machine is one that was ordered.
type machine struct {
	shape string // and its pool
	at    time.Time
}

// together are machines by when they were ordered: API servers know whole seconds, and batches are longer.
func together(machines []machine) [][]string {
	slices.SortStableFunc(machines, func(a, b machine) int { return a.at.Compare(b.at) })
	var orders [][]string
	for i, m := range machines {
		if i == 0 || m.at.Sub(machines[i-1].at) >= batch-time.Second {
			orders = append(orders, nil)
		}
		last := &orders[len(orders)-1]
		*last = append(*last, m.shape)
		slices.Sort(*last)
	}
	return orders
}

// timings are how long a scheduler may take for what nobody decides about.
func timings() []replay.Delays {
	var all []replay.Delays
	const ms = time.Millisecond
	for _, watch := range []time.Duration{10 * ms, 30 * ms, 100 * ms} {
		for _, cycle := range []time.Duration{2 * ms, 10 * ms} {
			for _, write := range []time.Duration{5 * ms, 20 * ms} {
				d := replay.DefaultDelays()
				d.SchedulerWatch, d.Cycle, d.Write = watch, cycle, write
				d.NodeReady, d.Drivers = 100*time.Millisecond, slack
				all = append(all, d)
			}
		}
	}
	return all
}

// outcome is what is compared: the machines in their order, and how many pods of each class are bound. Those of a class are alike.
func (p placement) outcome() string {
	classes := map[string]int{}
	for pod := range p.bound {
		classes[pod[:strings.LastIndexByte(pod, '-')]]++
	}
	return fmt.Sprint(p.machines, classes)
}

// pods are those that have a node.
func (p placement) pods() []string { return slices.Sorted(maps.Keys(p.bound)) }

// elsewhere are the pods that others have on another node.
func (p placement) elsewhere(other placement) []string {
	return slices.DeleteFunc(p.pods(), func(pod string) bool { return p.bound[pod] == other.bound[pod] })
}

// place has the real scheduler do it. It knows the cluster when it is paused, and the pods are made meanwhile, one after the other
// by falling priority, so that it finds them in the order in which it tries them.
func (s *scene) place(w *world.World) (placement, []*corev1.Pod) {
	s.T.Helper()
	s.set(w)
	s.replica.Scheduler.Pause()
	defer s.replica.Scheduler.Resume()
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
	since, came := time.Now(), map[types.UID]time.Time{}
	s.Await(5**patience, "nothing to happen for a while", func() error {
		if err := s.ready(came); err != nil {
			return err
		}
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

func named(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// still is how long nothing changes once nothing is left to do: longer than a machine boots, and than any batch or back-off.
const still = 10 * time.Second

// ready takes the startup taint off nodes that have had it for long enough.
func (s *scene) ready(came map[types.UID]time.Time) error {
	nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		n := &nodes.Items[i]
		if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == world.StartupTaint }) {
			continue
		}
		if _, known := came[n.UID]; !known {
			came[n.UID] = time.Now()
		}
		if time.Since(came[n.UID]) >= slack {
			s.open(n.Name)
		}
	}
	return nil
}

// open takes the startup taint off a node, upon which Muster takes its own off. The scheduler does not see the one without the
// other: it would try some pods in between, and which ones is chance.
func (s *scene) open(node string) {
	s.T.Helper()
	s.replica.Scheduler.Pause()
	defer s.replica.Scheduler.Resume()
	s.ChangeNode(node, stage.Untaint(world.StartupTaint))
	for begin := time.Now(); time.Since(begin) < *patience; {
		n, err := s.Plane.Client.CoreV1().Nodes().Get(s.Ctx, node, metav1.GetOptions{})
		require.NoError(s.T, err)
		if !slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1alpha1.StartingTaint }) {
			return
		}
	}
}

// placed is what came of it so far; machines that are on their way are an error.
func (s *scene) placed(pending []*corev1.Pod) (placement, error) {
	claims, err := s.Claims("")
	if err != nil {
		return placement{}, err
	}
	p := placement{bound: map[string]string{}}
	var machines []machine
	for _, c := range claims {
		machines = append(machines, machine{c.Spec.Pool + "/" + c.Spec.Shape, c.CreationTimestamp.Time})
		if c.Status.State != v1alpha1.ClaimReady {
			return placement{}, fmt.Errorf("claim %s is %s", c.Name, c.Status.State)
		}
	}
	p.machines = together(machines)
	now, err := s.pods()
	if err != nil {
		return placement{}, err
	}
	for _, pod := range pending {
		if got := now[pod.UID]; got != nil && got.Spec.NodeName != "" {
			p.bound[named(pod)] = got.Spec.NodeName
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
func (s *scene) simulate(w *world.World, pending []*corev1.Pod, delays replay.Delays) placement {
	s.T.Helper()
	pools, err := manifest.ReadPools(filepath.Join(s.folder(w), "pools.yaml"))
	require.NoError(s.T, err)
	cluster, err := manifest.ReadCluster(filepath.Join(s.folder(w), "cluster.yaml"))
	require.NoError(s.T, err)
	ours := map[string]bool{}
	for _, p := range pending {
		ours[named(p)] = true
	}
	exactly := &metav1.Duration{Duration: boot}
	out := placement{bound: map[string]string{}}
	var start time.Duration
	v, err := replay.New(replay.Options{
		Pools: pools.Pools, Nodes: cluster.Nodes, DaemonSets: cluster.DaemonSets, Namespaces: cluster.Namespaces, Storage: cluster.Storage,
		Providers: []*v1alpha1.Provider{{ObjectMeta: metav1.ObjectMeta{Name: world.Provider},
			Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim, Sim: &v1alpha1.Sim{Boot: v1alpha1.BootTime{Min: exactly, Median: exactly, Max: exactly}}}}},
		Pods:  slices.DeleteFunc(cluster.Pods, func(p *corev1.Pod) bool { return ours[named(p)] }),
		Load:  &arrivals{pending},
		Apart: apart, Delays: &delays,
		Start: &start, Batch: &policy.Batch{Idle: batch, Max: 20 * time.Second},
		Observe: func(o metav1.Object, _ bool) {
			if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" && ours[named(p)] {
				out.bound[named(p)] = p.Spec.NodeName
			}
		},
	})
	require.NoError(s.T, err)
	v.RunUntil(replay.Zero.Add(2 * time.Minute))
	var machines []machine
	for _, m := range v.Bought() {
		machines = append(machines, machine{m.Pool + "/" + m.Shape, replay.Zero.Add(m.Bought)})
	}
	out.machines = together(machines)
	return out
}
