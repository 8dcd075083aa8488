package replay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	schedulingv1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/simulation"
	"github.com/muster-sh/muster/capacity/volume"
)

// filters are the filter plugins that deploy/place leaves to kube-scheduler: host ports, volumes, topology spread, pod
// affinity and anti-affinity. The extender is asked about the nodes that pass them and no others, and not at all where
// none does (findNodesThatFitPod in pkg/scheduler/schedule_one.go).
//
// They are judged by capacity.Simulation, which test/e2e/fidelity compares with the plugins themselves, over what the
// scheduler's own cache holds (pkg/scheduler/backend/cache): nodes and pods as its watch delivered them, and the pods that
// it has assumed to be where it sends them. The cache is built when the first pod with such a rule is seen: a trace, which
// has none, does not pay for it.
type filters struct {
	now       time.Time
	fixed     []metav1.Object // volumes, claims and their classes
	spaces    []*corev1.Namespace
	nodes     map[string]*corev1.Node
	placed    map[types.UID]*corev1.Pod // bound or assumed, and not finished
	waiting   map[types.UID]*corev1.Pod
	nominated map[string]sets.Set[types.UID] // who waits, by the node in its status

	cache *capacity.Live         // nil until there is a rule
	sim   *simulation.Simulation // of the cache as it is; nil when that changed
}

func newFilters(namespaces []*corev1.Namespace, storage []metav1.Object) *filters {
	return &filters{
		fixed: storage, spaces: namespaces, nodes: map[string]*corev1.Node{}, placed: map[types.UID]*corev1.Pod{},
		waiting: map[types.UID]*corev1.Pod{}, nominated: map[string]sets.Set[types.UID]{},
	}
}

// ruled says whether a pod has a rule that these filters judge, for itself or for others.
func ruled(p *corev1.Pod) bool {
	if len(p.Spec.TopologySpreadConstraints) > 0 || volume.NewDemand(p) != nil {
		return true
	}
	if a := p.Spec.Affinity; a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil) {
		return true
	}
	takesPort := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.HostPort > 0 })
	}
	return slices.ContainsFunc(p.Spec.Containers, takesPort) || slices.ContainsFunc(p.Spec.InitContainers, takesPort)
}

func (f *filters) seeNode(c change, n *corev1.Node, now time.Time) {
	f.now, f.sim = now, nil
	if c.gone() {
		delete(f.nodes, n.Name)
		if f.cache != nil {
			f.cache.ForgetNode(n.Name)
		}
		return
	}
	f.nodes[n.Name] = n
	if f.cache != nil {
		f.cache.SetNode(n, now)
	}
}

// seePod takes in a pod that is on a node. That an assumed pod is bound is no news.
func (f *filters) seePod(c change, p *corev1.Pod, now time.Time) {
	f.now = now
	f.leave(p.UID)
	was := f.placed[p.UID]
	if c.gone() || finished(p) {
		delete(f.placed, p.UID)
		f.sim = nil
		if f.cache != nil {
			f.cache.ForgetPod(p.UID)
		}
		return
	}
	f.placed[p.UID] = p
	if was == nil || was.Spec.NodeName != p.Spec.NodeName {
		f.sim = nil
	}
	f.take(p)
}

// wait takes in a pod that waits for a node.
func (f *filters) wait(p *corev1.Pod, now time.Time) {
	f.now = now
	f.leave(p.UID)
	f.waiting[p.UID] = p
	if node := p.Status.NominatedNodeName; node != "" {
		if f.nominated[node] == nil {
			f.nominated[node] = sets.New[types.UID]()
		}
		f.nominated[node].Insert(p.UID)
	}
	f.take(p)
}

// forget is for a pod that was never bound and is gone, also one that was assumed to be somewhere (ForgetPod).
func (f *filters) forget(uid types.UID) {
	f.leave(uid)
	delete(f.placed, uid)
	if f.cache != nil {
		f.sim = nil
		f.cache.ForgetPod(uid)
	}
}

func (f *filters) leave(uid types.UID) {
	old := f.waiting[uid]
	if old == nil {
		return
	}
	delete(f.waiting, uid)
	if node := old.Status.NominatedNodeName; node != "" {
		if f.nominated[node].Delete(uid); f.nominated[node].Len() == 0 {
			delete(f.nominated, node)
		}
	}
}

// assume counts a pod on the node that was chosen for it, before anybody sees it bound (Cache.AssumePod).
func (f *filters) assume(p *corev1.Pod, node string) {
	f.leave(p.UID)
	on := *p
	on.Spec.NodeName = node
	f.placed[p.UID] = &on
	if f.cache == nil {
		return
	}
	if f.sim != nil {
		if place := f.sim.On(node); place != nil {
			f.sim.Put(f.sim.Class(f.cache.Pod(p.UID)), place, 1)
		}
	}
	f.take(&on)
}

// take brings a pod's newest version into the cache, which is made when the first rule comes.
func (f *filters) take(p *corev1.Pod) {
	switch {
	case f.cache != nil:
		f.set(p)
	case ruled(p):
		f.build()
	}
}

// build makes the cache of all that is known.
func (f *filters) build() {
	f.sim = nil
	f.cache = capacity.NewLive(capacity.Schedulers{Place: sets.New(Scheduler)})
	for _, n := range f.spaces {
		f.cache.SetNamespace(n)
	}
	for _, o := range f.fixed {
		f.cache.SetStorage(o)
	}
	for _, name := range sortedKeys(f.nodes) {
		f.cache.SetNode(f.nodes[name], f.now)
	}
	for _, known := range []map[types.UID]*corev1.Pod{f.placed, f.waiting} {
		for _, uid := range sortedKeys(known) {
			f.set(known[uid])
		}
	}
}

// set keeps a nominated node out of the cache: upstream counts such a pod for some and not for others, see judge.
func (f *filters) set(p *corev1.Pod) {
	known := f.cache.Pod(p.UID) != nil
	if p.Status.NominatedNodeName != "" {
		q := *p
		q.Status.NominatedNodeName = ""
		p = &q
	}
	f.cache.SetPod(p, f.now)
	if !known && p.Spec.NodeName == "" && ruled(p) {
		f.cache.Want(p.UID, f.now) // its rules are to be counted by
		f.sim = nil
	}
}

// pass are the nodes that let the pod in, and why others do not: how many for each reason, and which plugins.
func (f *filters) pass(p *corev1.Pod, nodes []string) (passed []string, reasons map[string]int, by rejectors) {
	if f.cache == nil {
		return nodes, nil, 0
	}
	if f.sim == nil {
		f.sim = simulation.New(f.cache.View())
	}
	class := f.sim.Class(f.cache.Pod(p.UID))
	if class.Plain() && len(f.nominated) == 0 {
		return nodes, nil, 0
	}
	reasons = map[string]int{}
	for _, name := range nodes {
		v := f.judge(p, class, f.sim.On(name))
		if v.Fits {
			passed = append(passed, name)
			continue
		}
		reasons[v.Reason.String()]++
		by |= rejectorOf(v.Reason.Code)
	}
	return passed, reasons, by
}

// judge asks twice where pods of the same or a higher priority are nominated to the node: with them there, and without
// (RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime/framework.go).
func (f *filters) judge(p *corev1.Pod, class *simulation.Class, on *simulation.Place) capacity.Verdict {
	var guests []*simulation.Class
	for _, uid := range sets.List(f.nominated[on.Node.Name]) {
		if uid != p.UID && schedulingv1.PodPriority(f.waiting[uid]) >= schedulingv1.PodPriority(p) {
			guests = append(guests, f.sim.Class(f.cache.Pod(uid)))
		}
	}
	if len(guests) > 0 {
		for _, g := range guests {
			f.sim.Put(g, on, 1)
		}
		v := f.sim.Company(class, on)
		for _, g := range guests {
			f.sim.Take(g, on, 1)
		}
		if !v.Fits {
			return v
		}
	}
	return f.sim.Company(class, on)
}
