package replay

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	helper "k8s.io/component-helpers/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// patience is how long a pod may stay pending although it fits: two seconds in a quiet cluster, and the scheduler's own
// window of back-off on top.
const patience = 3 * time.Second

// sleeper finds pods that fit and are not woken.
type sleeper struct {
	w      *World
	since  map[types.UID]time.Time
	looked time.Time
}

// check looks a few times a second.
func (x *sleeper) check() error {
	if x.w.Now().Sub(x.looked) < 200*time.Millisecond {
		return nil
	}
	x.looked = x.w.Now()
	for uid, l := range x.w.pods.lives {
		p := x.w.api.pods[uid]
		if l.state != lifeWaits || p == nil || !x.fitsSomewhere(p) {
			delete(x.since, uid)
			continue
		}
		since, known := x.since[uid]
		if !known {
			x.since[uid] = x.w.Now()
		} else if waited := x.w.Now().Sub(since); waited > patience {
			return fmt.Errorf("pod %s fits for %s and is still pending", p.Name, waited)
		}
	}
	return nil
}

func (x *sleeper) fitsSomewhere(p *corev1.Pod) bool {
	for name, n := range x.w.api.nodes {
		left := n.Status.Allocatable.DeepCopy()
		for uid := range x.w.api.bound[name] {
			if on := x.w.api.pods[uid]; !finished(on) {
				take(left, on)
			}
		}
		take(left, p)
		if !short(left) {
			return true
		}
	}
	return false
}

func take(left corev1.ResourceList, p *corev1.Pod) {
	for name, asked := range helper.PodRequests(p, helper.PodResourcesOptions{}) {
		q := left[name]
		q.Sub(asked)
		left[name] = q
	}
}

func short(left corev1.ResourceList) bool {
	for _, q := range left {
		if q.Sign() < 0 {
			return true
		}
	}
	return false
}

// TestNoPodThatFitsSleeps crowds nodes that cannot become more, with a Muster that sees everything later than the
// scheduler does, or earlier: whenever room comes up, somebody takes it.
func TestNoPodThatFitsSleeps(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 11))
			d := DefaultDelays()
			d.Watch = time.Duration(1+r.IntN(400)) * time.Millisecond
			d.SchedulerWatch = time.Duration(1+r.IntN(200)) * time.Millisecond
			d.Bind = time.Duration(1+r.IntN(300)) * time.Millisecond
			var load []Arrival
			at := time.Duration(0)
			for i := range 40 {
				at += time.Duration(r.IntN(200)) * time.Millisecond
				load = append(load, Arrival{
					At: at, Pod: pod(fmt.Sprintf("p-%02d", i), fmt.Sprintf("%dm", 200+r.IntN(3000)), fmt.Sprintf("%dMi", 100+r.IntN(5000))),
					Runs: time.Duration(10_000+r.IntN(200_000)) * time.Millisecond,
				})
			}
			w := newWorld(t, Options{
				Pools: []*v1alpha1.NodePool{poolOf("general", 0, shape("small", "4", "8Gi"))}, Delays: &d,
				Nodes: []*corev1.Node{nodeNamed("a", "4", "8Gi"), nodeNamed("b", "4", "8Gi")},
			}, load...)
			x, s := newWitness(w), &sleeper{w: w, since: map[types.UID]time.Time{}}
			for w.Step() {
				require.NoError(t, x.check(), "at %s", w.Now())
				require.NoError(t, s.check(), "at %s", w.Now())
			}
			require.Equal(t, 40, w.Summary().Pods.Finished)
		})
	}
}

// TestManyKindsAtOnce is a busy cluster: DaemonSets, two pools of which one is tainted, a driver to wait for, nodes that
// were there before, pods that leave before they are placed, priorities and a slow watch.
func TestManyKindsAtOnce(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 13))
			d := DefaultDelays()
			d.Watch = time.Duration(1+r.IntN(500)) * time.Millisecond
			gpu := poolOf("gpu", 3, v1alpha1.Shape{Name: "one", Resources: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("32Gi"), WholeGPU: *oneQuantity,
			}})
			gpu.Spec.Template.Taints = []corev1.Taint{{Key: string(WholeGPU), Effect: corev1.TaintEffectNoSchedule}}
			gpu.Spec.Template.StartupTaints = []corev1.Taint{{Key: "example.org/driver", Effect: corev1.TaintEffectNoSchedule}}
			w := newWorld(t, Options{
				Seed: int64(seed), Delays: &d, Tail: 2 * time.Hour,
				Pools:      []*v1alpha1.NodePool{poolOf("general", 8, shape("small", "4", "8Gi"), shape("large", "16", "32Gi")), gpu},
				Nodes:      []*corev1.Node{nodeNamed("old", "4", "8Gi")},
				DaemonSets: []*appsv1.DaemonSet{daemonSet("agent", "200m", "256Mi"), daemonSet("logs", "100m", "128Mi")},
			}, mixedLoad(r)...)
			x := newWitness(w)
			x.run(t)
			require.Empty(t, w.Ends())
		})
	}
}

func mixedLoad(r *rand.Rand) []Arrival {
	var load []Arrival
	at := time.Duration(0)
	for i := range 80 {
		at += time.Duration(r.IntN(8000)) * time.Millisecond
		p := pod(fmt.Sprintf("p-%02d", i), fmt.Sprintf("%dm", 200+r.IntN(3000)), fmt.Sprintf("%dMi", 100+r.IntN(4000)))
		priority := int32(r.IntN(3) * 100)
		p.Spec.Priority = &priority
		if r.IntN(6) == 0 {
			p.Spec.Containers[0].Resources.Requests[WholeGPU] = *oneQuantity
			p.Spec.Tolerations = []corev1.Toleration{{Key: string(WholeGPU), Operator: corev1.TolerationOpExists}}
		}
		load = append(load, Arrival{At: at, Pod: p, Runs: time.Duration(20+r.IntN(400)) * time.Second})
	}
	return load
}

func daemonSet(name, cpu, memory string) *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}}
	set.Spec.Template.Spec = pod(name, cpu, memory).Spec
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	set.Spec.Template.Spec.SchedulerName = corev1.DefaultSchedulerName
	return set
}
