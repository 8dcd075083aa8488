package preemption_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/capacity/preemption"
)

const nodeMilli = 8000

// world is a random cluster: nodes of one size with pods of every priority, some protected, some in deletion, and pods
// that ask.
type world struct {
	nodes   []string
	running []*corev1.Pod
	asking  []*corev1.Pod
	allowed map[string]int32
}

func randomWorld(r *rand.Rand) world {
	w := world{allowed: map[string]int32{}}
	for b := range r.IntN(3) {
		w.allowed[fmt.Sprint("app-", b)] = int32(r.IntN(3))
	}
	for n := range 1 + r.IntN(5) {
		name := fmt.Sprint("n", n)
		w.nodes = append(w.nodes, name)
		for left, i := int64(nodeMilli), 0; left > 0 && i < 8; i++ {
			milli := min(left, int64(500*(1+r.IntN(6))))
			left -= milli
			w.running = append(w.running, randomPod(r, fmt.Sprint(name, "-", i), milli, on(name)))
		}
	}
	for i := range 1 + r.IntN(6) {
		w.asking = append(w.asking, pod(fmt.Sprint("ask-", i), int32(r.IntN(8)), int64(500*(1+r.IntN(16)))))
	}
	return w
}

func randomPod(r *rand.Rand, name string, milli int64, edits ...podEdit) *corev1.Pod {
	edits = append(edits, labelled(fmt.Sprint("app-", r.IntN(4))))
	if r.IntN(4) > 0 {
		edits = append(edits, startedAt(-r.IntN(5)))
	}
	switch r.IntN(12) {
	case 0:
		edits = append(edits, ownedBy("DaemonSet"))
	case 1:
		edits = append(edits, leavingAt(start.Add(time.Duration(r.IntN(120)-60)*time.Second)))
	}
	return pod(name, int32(r.IntN(8)-1), milli, edits...)
}

func (w world) cluster(t testing.TB, r *rand.Rand) *cluster {
	c := newCluster(t)
	for _, i := range r.Perm(len(w.nodes)) {
		c.nodes(nodeMilli, w.nodes[i])
	}
	for _, i := range r.Perm(len(w.running)) {
		c.pods(w.running[i])
	}
	for _, i := range r.Perm(len(w.asking)) {
		c.wants(w.asking[i])
	}
	for app, allowed := range w.allowed {
		c.budget(app, allowed)
	}
	return c
}

// books counts what is free on each node by plain arithmetic, in the order of the moves.
type books struct {
	free map[string]int64
	pods map[string]*corev1.Pod
}

func milliOf(p *corev1.Pod) int64 { return p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() }

func (w world) books() books {
	b := books{map[string]int64{}, map[string]*corev1.Pod{}}
	for _, n := range w.nodes {
		b.free[n] = nodeMilli
	}
	for _, p := range w.running {
		b.pods[p.Name] = p
		daemon := len(p.OwnerReferences) > 0
		if going := p.DeletionTimestamp != nil && start.Before(p.DeletionTimestamp.Add(30*time.Second)); !going || daemon {
			b.free[p.Spec.NodeName] -= milliOf(p)
		}
	}
	return b
}

func TestEveryMoveIsSoundAndNoVictimCanBeSpared(t *testing.T) {
	victims, adopted, refused := 0, 0, 0
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 7))
		w := randomWorld(r)
		d := w.cluster(t, r).decide()
		b := w.books()
		dead := map[string]bool{}
		for _, m := range d.Moves {
			want := m.Pod.Ask.Requests.MilliCPU
			free := b.free[m.Node]
			for _, v := range m.Victims {
				p := b.pods[v.Name]
				require.Less(t, v.Priority, m.Pod.Priority, "seed %d: %s for %s", seed, v.Name, m.Pod.Name)
				require.Equal(t, m.Node, p.Spec.NodeName, "seed %d", seed)
				require.Nil(t, p.DeletionTimestamp, "seed %d", seed)
				require.Empty(t, p.OwnerReferences, "seed %d", seed)
				require.False(t, dead[v.Name], "seed %d: %s dies twice", seed, v.Name)
				dead[v.Name] = true
				free += milliOf(p)
			}
			require.LessOrEqual(t, want, free, "seed %d: %s does not fit on %s", seed, m.Pod.Name, m.Node)
			for _, v := range m.Victims {
				require.Greater(t, want, free-milliOf(b.pods[v.Name]), "seed %d: %s could stay", seed, v.Name)
			}
			b.free[m.Node] = free - want
			victims += len(m.Victims)
			if len(m.Victims) == 0 {
				adopted++
			}
		}
		refused += len(d.Refused)
	}
	t.Logf("%d victims, %d pods that wait for pods in deletion, %d refused", victims, adopted, refused)
	require.Positive(t, victims)
	require.Positive(t, adopted)
	require.Positive(t, refused)
}

func TestTheOrderOfObjectsChangesNothing(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := randomWorld(r)
		first, second := w.cluster(t, r).decide(), w.cluster(t, r).decide()
		require.Equal(t, moves(first), moves(second), "seed %d", seed)
		require.Equal(t, first.Refused, second.Refused, "seed %d", seed)
	}
}

func TestDecidingChangesNothing(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 13))
		v := randomWorld(r).cluster(t, r).View()
		all := asks(v)
		first := preemption.Decide(v, all, 100, start)
		second := preemption.Decide(v, all, 100, start)
		require.Equal(t, moves(first), moves(second), "seed %d: the view is as it was", seed)
	}
}
