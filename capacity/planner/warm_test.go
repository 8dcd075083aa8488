package planner

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
)

// ready gives a pool a machine in a slot, whose node is there.
func (w *world) ready(slot int) *corev1.Node {
	pool := w.pools[0]
	name := capacity.SlotName(pool.Name, slot)
	c := object.InState(capacity.NewClaim(pool, pool.Spec.Template.Shapes[0], slot), v1alpha1.ClaimReady)
	c.UID, c.Status.NodeName = "claim-"+"uid", name
	n := object.Node(name, "cpu", "4", "memory", "8Gi")
	w.nodes, w.claims = append(w.nodes, n), append(w.claims, c)
	return n
}

func TestSpareNodesAreKeptReady(t *testing.T) {
	occupied := func(w *world, slots ...int) {
		for _, slot := range slots {
			n := w.ready(slot)
			w.pods = append(w.pods, object.Bound(object.Pod("on-"+n.Name, "cpu", "1"), n.Name))
		}
	}
	for name, c := range map[string]struct {
		spare string
		build func(*world)
		want  int // machines for nobody
	}{
		"none is there":                        {"2", func(*world) {}, 2},
		"one is there":                         {"2", func(w *world) { w.ready(0) }, 1},
		"as many as are wanted":                {"2", func(w *world) { w.ready(0); w.ready(1) }, 0},
		"those with pods do not count":         {"1", func(w *world) { occupied(w, 0, 1) }, 1},
		"a share of those with pods":           {"50%", func(w *world) { occupied(w, 0, 1, 2) }, 2},
		"no share of none":                     {"50%", func(*world) {}, 0},
		"one that is about to get a pod":       {"1", func(w *world) { w.ready(0); w.pending("web", 1, "cpu", "1") }, 1},
		"not above the limit":                  {"9", func(w *world) { occupied(w, 0, 1) }, 4},
		"never before a pod that gets nothing": {"2", func(w *world) { w.pending("huge", 1, "cpu", "64") }, 0},
		"one that is on its way": {"1", func(w *world) {
			c := object.InState(capacity.NewClaim(w.pools[0], small(), 0), v1alpha1.ClaimJoining)
			w.claims = append(w.claims, c)
		}, 0},
		"one that nobody hears of": {"1", func(w *world) {
			n := w.ready(0)
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
		}, 1},
		"one that is being released": {"1", func(w *world) {
			w.ready(0)
			w.claims[0].Spec.Release = &v1alpha1.Release{Reason: "Idle"}
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(object.Pool("p", 6, object.Shape("large", "cpu", "8", "memory", "16Gi"), small()))
			w.pools[0].Spec.Template.Shapes = w.pools[0].Spec.Template.Shapes[1:]
			w.pools[0].Spec.Spare = new(intstr.Parse(c.spare))
			c.build(w)
			empty := 0
			for _, create := range w.plan().Creates {
				if len(create.Pods) == 0 {
					empty++
				}
			}
			require.Equal(t, c.want, empty)
		})
	}
}

// Pods that come take the spare node, and the machine that is bought is the next spare one.
func TestPodsTakeTheSpareNodeAndItIsBoughtAgain(t *testing.T) {
	w := newWorld(object.Pool("p", 6, small()))
	w.pools[0].Spec.Spare = new(intstr.FromInt32(1))
	w.ready(0)
	w.pending("web", 3, "cpu", "1")
	plan := w.plan()
	for _, o := range plan.Outcomes {
		require.Equal(t, capacity.FitsNow, o.Fate)
	}
	require.Len(t, plan.Creates, 1)
	require.Empty(t, plan.Creates[0].Pods)
}

// The cheapest shape is the spare one.
func TestASpareNodeIsOfTheCheapestShape(t *testing.T) {
	w := newWorld(object.Pool("p", 6, priced(object.Shape("dear", "cpu", "4", "memory", "8Gi"), "9"), priced(object.Shape("cheap", "cpu", "4", "memory", "8Gi"), "1")))
	w.pools[0].Spec.Spare = new(intstr.FromInt32(1))
	require.Equal(t, "cheap", w.plan().Creates[0].Claim.Spec.Shape)
}
