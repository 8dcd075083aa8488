package replay

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/provider/identity"
)

// feed tells a view what the API server holds, first all of it, then every change in order; and it finds nodes for
// claims among those it has seen.
type feed struct {
	agenda  *agenda
	api     *api
	live    *capacity.Live
	watch   *watch
	nodes   map[string]*corev1.Node
	onClaim func(name string)
	onNode  func(*corev1.Node)
}

var _ control.NodeFinder = (*feed)(nil)

func newFeed(a *agenda, api *api, live *capacity.Live, lag time.Duration, onClaim func(string), onNode func(*corev1.Node)) *feed {
	f := &feed{agenda: a, api: api, live: live, nodes: map[string]*corev1.Node{}, onClaim: onClaim, onNode: onNode}
	f.watch = api.watch(lag, f.see)
	return f
}

func (f *feed) stop() { f.api.unwatch(f.watch) }

// list takes in what exists.
func (f *feed) list() {
	for _, class := range f.api.classes {
		f.live.SetDeviceClass(class)
	}
	for _, n := range f.api.spaces {
		f.live.SetNamespace(n)
	}
	for _, o := range f.api.storage {
		f.live.SetStorage(o)
	}
	for _, o := range f.objects() {
		f.see(change{fresh: o})
	}
}

func (f *feed) objects() []metav1.Object {
	var all []metav1.Object
	for _, d := range f.api.daemons {
		all = append(all, d)
	}
	all = appendSorted(all, f.api.providers)
	all = appendSorted(all, f.api.pools)
	all = appendSorted(all, f.api.nodes)
	all = appendSorted(all, f.api.claims)
	return appendSorted(all, f.api.pods)
}

func appendSorted[K cmp.Ordered, T metav1.Object](all []metav1.Object, objects map[K]T) []metav1.Object {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		all = append(all, objects[key])
	}
	return all
}

// see tells the view first, and then those who wait for claims and nodes.
func (f *feed) see(c change) {
	switch o := c.object().(type) {
	case *corev1.Pod:
		f.seePod(c, o)
	case *corev1.Node:
		f.seeNode(c, o)
	case *v1alpha1.NodeClaim:
		if c.gone() {
			f.live.ForgetClaim(o.Name, o.UID)
		} else {
			f.live.SetClaim(o)
		}
		f.onClaim(o.Name)
	case *v1alpha1.NodePool:
		f.live.SetPool(o)
	case *v1alpha1.Provider:
		f.live.SetProvider(o)
	case *appsv1.DaemonSet:
		f.live.SetDaemonSet(o)
	}
}

func (f *feed) seePod(c change, p *corev1.Pod) {
	if c.gone() {
		f.live.ForgetPod(p.UID)
		return
	}
	f.live.SetPod(p, f.agenda.now)
}

func (f *feed) seeNode(c change, n *corev1.Node) {
	if c.gone() {
		delete(f.nodes, n.Name)
		f.live.ForgetNode(n.Name)
	} else {
		f.nodes[n.Name] = n
		f.live.SetNode(n, f.agenda.now)
	}
	f.onNode(n)
}

// Candidates returns the Nodes that carry one of these. A world has no Node that was renamed, so the name and what the
// simulated machines put into it lead to the same few.
func (f *feed) Candidates(name, providerID, systemUUID string) []*corev1.Node {
	var found []*corev1.Node
	for _, n := range f.nodes {
		if name != "" && n.Name == name || providerID != "" && n.Spec.ProviderID == providerID ||
			identity.UUID(systemUUID) != "" && identity.UUID(n.Status.NodeInfo.SystemUUID) == identity.UUID(systemUUID) {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return found
}
