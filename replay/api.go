package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// api is the API server: objects with versions, and those who watch them. A stored object is never changed; a write
// stores a new one.
type api struct {
	agenda  *agenda
	seed    int64
	version uint64
	uids    uint64

	nodes     map[string]*corev1.Node
	pods      map[types.UID]*corev1.Pod
	podNames  map[string]types.UID // namespace/name
	bound     map[string]map[types.UID]bool
	claims    map[string]*v1alpha1.NodeClaim
	pools     map[string]*v1alpha1.NodePool
	providers map[string]*v1alpha1.Provider
	daemons   []*appsv1.DaemonSet
	classes   []*resourcev1.DeviceClass
	spaces    []*corev1.Namespace
	storage   []metav1.Object

	watches []*watch
}

func newAPI(a *agenda, seed int64) *api {
	return &api{
		agenda: a, seed: seed,
		nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{}, podNames: map[string]types.UID{},
		bound: map[string]map[types.UID]bool{}, claims: map[string]*v1alpha1.NodeClaim{},
		pools: map[string]*v1alpha1.NodePool{}, providers: map[string]*v1alpha1.Provider{},
	}
}

// change is one write: old is nil for a new object, fresh for one that is gone.
type change struct{ old, fresh metav1.Object }

// watch delivers every change in order, each the same time after it was written.
type watch struct {
	lag     time.Duration
	deliver func(change)
	stopped bool
}

// watch has every change delivered after a lag; without one at once, inside the write.
func (a *api) watch(lag time.Duration, deliver func(change)) *watch {
	w := &watch{lag: lag, deliver: deliver}
	a.watches = append(a.watches, w)
	return w
}

func (a *api) unwatch(w *watch) {
	w.stopped = true
	a.watches = slices.DeleteFunc(a.watches, func(o *watch) bool { return o == w })
}

func (a *api) publish(c change) {
	for _, w := range a.watches {
		if w.lag == 0 {
			w.deliver(c)
			continue
		}
		a.agenda.after(w.lag, func() {
			if !w.stopped {
				w.deliver(c)
			}
		})
	}
}

// stamp gives a new object what the API server would.
func (a *api) stamp(o metav1.Object) {
	a.renew(o)
	if o.GetUID() == "" {
		a.uids++
		o.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(a.seed), a.uids))) //nolint:gosec // a part of a name
	}
	o.SetGeneration(1)
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(a.now())
	}
}

// renew gives a changed object its version.
func (a *api) renew(o metav1.Object) {
	a.version++
	o.SetResourceVersion(strconv.FormatUint(a.version, 10))
}

// now is the time as metav1.Time keeps it in JSON: whole seconds.
func (a *api) now() metav1.Time { return metav1.NewTime(a.agenda.now.Truncate(time.Second)) }

func podKey(namespace, name string) string { return namespace + "/" + name }

// createPod stores a new pod under its name, or under a numbered one when that is taken.
func (a *api) createPod(p *corev1.Pod) *corev1.Pod {
	name := p.Name
	for n := 2; a.podNames[podKey(p.Namespace, p.Name)] != ""; n++ {
		p.Name = fmt.Sprintf("%s-%d", name, n)
	}
	a.stamp(p)
	a.storePod(nil, p)
	return p
}

// changePod stores a new version of a pod; nothing happens when it is gone.
func (a *api) changePod(uid types.UID, edit func(*corev1.Pod)) {
	old := a.pods[uid]
	if old == nil {
		return
	}
	fresh := *old
	old.Status.DeepCopyInto(&fresh.Status)
	edit(&fresh)
	a.renew(&fresh)
	a.storePod(old, &fresh)
}

func (a *api) storePod(old, p *corev1.Pod) {
	a.pods[p.UID] = p
	a.podNames[podKey(p.Namespace, p.Name)] = p.UID
	if p.Spec.NodeName != "" {
		if a.bound[p.Spec.NodeName] == nil {
			a.bound[p.Spec.NodeName] = map[types.UID]bool{}
		}
		a.bound[p.Spec.NodeName][p.UID] = true
	}
	c := change{fresh: p}
	if old != nil {
		c.old = old
	}
	a.publish(c)
}

func (a *api) removePod(uid types.UID) {
	p := a.pods[uid]
	if p == nil {
		return
	}
	delete(a.pods, uid)
	delete(a.podNames, podKey(p.Namespace, p.Name))
	if on := a.bound[p.Spec.NodeName]; on != nil {
		delete(on, uid)
		if len(on) == 0 {
			delete(a.bound, p.Spec.NodeName)
		}
	}
	a.publish(change{old: p})
}

// podsOn are the pods bound to a node, by UID.
func (a *api) podsOn(node string) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(a.bound[node]))
	for _, uid := range slices.Sorted(maps.Keys(a.bound[node])) {
		pods = append(pods, a.pods[uid])
	}
	return pods
}

// createNode stores a new Node; false when the name is taken.
func (a *api) createNode(n *corev1.Node) bool {
	if a.nodes[n.Name] != nil {
		return false
	}
	a.stamp(n)
	a.nodes[n.Name] = n
	a.publish(change{fresh: n})
	return true
}

// changeNode stores a new version of a Node; nothing happens when it is gone.
func (a *api) changeNode(name string, edit func(*corev1.Node)) {
	old := a.nodes[name]
	if old == nil {
		return
	}
	fresh := old.DeepCopy()
	edit(fresh)
	a.renew(fresh)
	a.nodes[name] = fresh
	a.publish(change{old: old, fresh: fresh})
}

func (a *api) removeNode(name string) {
	if old := a.nodes[name]; old != nil {
		delete(a.nodes, name)
		a.publish(change{old: old})
	}
}

func (c change) gone() bool { return c.fresh == nil }

// object is the newest version of what changed.
func (c change) object() metav1.Object {
	if c.fresh != nil {
		return c.fresh
	}
	return c.old
}
