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
// They are judged by simulation.Simulation, which test/e2e/fidelity compares with the plugins themselves, over what the
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
