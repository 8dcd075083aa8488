package planner

import (
	"fmt"
	"math/rand"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/internal/object"
	"github.com/muster-sh/muster/capacity/internal/scene"
)

// world is a cluster as a list of objects, so that it can be told to Live in any order, changed and told again.
type world struct {
	pools     []*v1alpha1.NodePool
	providers []*v1alpha1.Provider
	nodes     []*corev1.Node
	pods      []*corev1.Pod
	daemons   []*appsv1.DaemonSet
	claims    []*v1alpha1.NodeClaim
	served    map[string]corev1.ResourceName // DeviceClass -> extended resource
	refused   map[types.UID]sets.Set[string] // nodes that the scheduler's own filters refuse
}

func newWorld(pools ...*v1alpha1.NodePool) *world {
	return &world{
		pools:     pools,
		providers: []*v1alpha1.Provider{{ObjectMeta: metav1.ObjectMeta{Name: "sim"}, Spec: v1alpha1.ProviderSpec{Type: "sim"}}},
		served:    map[string]corev1.ResourceName{}, refused: map[types.UID]sets.Set[string]{},
	}
}

// view tells everything to a new Live, in an order that the seed decides, and counts every pending pod as a shortfall.
func (w *world) view(seed int64, now time.Time) *capacity.View {
	l := scene.New().Live
	var tell []func()
	add := func(f func()) { tell = append(tell, f) }
	for _, p := range w.pools {
		add(func() { l.SetPool(p) })
	}
	for _, p := range w.providers {
		add(func() { l.SetProvider(p) })
	}
	for _, n := range w.nodes {
		add(func() { l.SetNode(n, now) })
	}
	for _, p := range w.pods {
		add(func() { l.SetPod(p, now) })
	}
	for _, d := range w.daemons {
		add(func() { l.SetDaemonSet(d) })
	}
	for _, c := range w.claims {
		add(func() { l.SetClaim(w.ordered(c)) })
	}
	for class, name := range w.served {
		add(func() { l.SetDeviceClass(deviceClass(class, name)) })
	}
	if seed != 0 {
		rand.New(rand.NewSource(seed)).Shuffle(len(tell), func(i, j int) { tell[i], tell[j] = tell[j], tell[i] })
	}
	for _, f := range tell {
		f()
	}
	for _, p := range w.pods {
		l.Want(p.UID, now)
	}
	l.Expire(now)
	v := l.View()
	for _, s := range v.Shortfalls {
		s.Refused, s.Called = w.refused[s.Pod.UID], now.Add(time.Minute) // the scheduler knew all nodes by then
	}
	return v
}

// ordered is a claim that says what kinds of pods it was ordered for.
func (w *world) ordered(c *v1alpha1.NodeClaim) *v1alpha1.NodeClaim {
	if c.Spec.OrderedFor != nil {
		return c
	}
	var pods []*capacity.Pod
	for _, ref := range c.Spec.Reserved {
		for _, p := range w.pods {
			if p.UID == ref.UID {
				pods = append(pods, capacity.PodOf(p))
			}
		}
	}
	c = c.DeepCopy()
	c.Spec.OrderedFor = capacity.KindsOf(pods)
	return c
}

// apply carries a plan out as far as the API server is concerned.
func (w *world) apply(p capacity.Plan, now time.Time) {
	for _, c := range p.Creates {
		claim := c.Claim.DeepCopy()
		claim.UID, claim.CreationTimestamp = types.UID("uid-"+claim.Name), metav1.NewTime(now)
		w.claims = append(w.claims, claim)
	}
	for _, r := range p.Reserve {
		for i, c := range w.claims {
			if c.Name != r.Claim.Name {
				continue
			}
			w.claims[i] = c.DeepCopy()
			for _, pod := range r.Pods {
				w.claims[i].Spec.Reserved = append(w.claims[i].Spec.Reserved, pod.Ref())
			}
		}
	}
}

func (w *world) plan() capacity.Plan { return Plan(w.view(0, object.Start), object.Start) }

func priced(s v1alpha1.Shape, price string) v1alpha1.Shape {
	s.Price = new(resource.MustParse(price))
	return s
}

// pending adds n pods that ask for the given amounts, named name-0, name-1, … .
func (w *world) pending(name string, n int, pairs ...string) []*corev1.Pod {
	first := len(w.pods)
	for i := range n {
		w.pods = append(w.pods, object.Pod(fmt.Sprintf("%s-%d", name, i), pairs...))
	}
	return w.pods[first:]
}

func deviceClass(name string, serves corev1.ResourceName) *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if serves != "" {
		c.Spec.ExtendedResourceName = new(string(serves))
	}
	return c
}
