package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Feed watches the API server and tells Live, in the order of each object's versions. It also finds Nodes for claims,
// and tells a listener which claims and nodes changed.
type Feed struct {
	cache    cache.Cache
	sources  []source // what goes into live without a cache
	pods     *podStore
	live     *capacity.Live
	nodes    toolscache.Indexer
	troubles *troubles
	synced   atomic.Bool

	mu      sync.Mutex
	waiting map[string]toolscache.InformerSynced // by resource

	// Now is the clock of what is seen; time.Now, unless it is set before Run.
	Now func() time.Time
	// Apart leaves Muster's own kinds alone: whoever sets it tells Live of pools and providers. Set it before Run.
	Apart bool
	// OnClaim and OnNode are called after Live knows; they must not block. Set them before Run.
	OnClaim func(name string)
	OnNode  func(node *corev1.Node, gone bool)
	observe func(o metav1.Object, gone bool)
}

// Observe has a recorder told of every version of pods, nodes, claims, pools, Providers and DaemonSets, and of their end.
// It must not block, nor change what it is given. Call it before Run.
func (f *Feed) Observe(tell func(o metav1.Object, gone bool)) { f.observe, f.pods.observe = tell, tell }

// NewFeed makes a Feed; Run starts it.
func NewFeed(config *rest.Config, scheme *runtime.Scheme, live *capacity.Live) (*Feed, error) {
	t := newTroubles()
	c, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: strip, DefaultWatchErrorHandler: t.handler})
	if err != nil {
		return nil, fmt.Errorf("make the watches: %w", err)
	}
	direct := rest.CopyConfig(config)
	direct.ContentType = runtime.ContentTypeProtobuf
	cs, err := kubernetes.NewForConfig(direct)
	if err != nil {
		return nil, fmt.Errorf("make a client for the watches: %w", err)
	}
	f := &Feed{
		cache: c, live: live, troubles: t, waiting: map[string]toolscache.InformerSynced{},
		Now: time.Now, OnClaim: func(string) {}, OnNode: func(*corev1.Node, bool) {}, observe: func(metav1.Object, bool) {},
	}
	f.pods = newPodStore(live, func() time.Time { return f.Now() })
	f.sources = sources(cs, live, f.pods, t)
	for _, s := range f.sources {
		f.waiting[s.resource] = s.synced
	}
	return f, nil
}

// Synced says whether everything that existed at the start has reached Live.
func (f *Feed) Synced() bool { return f.synced.Load() }

// Err says which resources have not reached Live yet and what the API server said about them; nil once all have.
func (f *Feed) Err() error {
	if f.Synced() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var missing []string
	for resource, synced := range f.waiting {
		if !synced() {
			missing = append(missing, resource)
		}
	}
	slices.Sort(missing)
	return errors.New(f.troubles.text(missing))
}

// Run watches until ctx ends, and returns when nothing watches any more.
func (f *Feed) Run(ctx context.Context) error {
	var watches sync.WaitGroup
	defer watches.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	watches.Go(func() { failed <- f.cache.Start(ctx) })
	for _, s := range f.sources {
		watches.Go(func() { s.reflector.RunWithContext(ctx) })
	}
	if err := f.register(ctx); err != nil {
		return err
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), f.all()...) {
		return <-failed
	}
	f.synced.Store(true)
	return <-failed
}

func (f *Feed) all() []toolscache.InformerSynced {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.waiting))
}

// watches says what is done with each kind.
func (f *Feed) watches() map[client.Object]toolscache.ResourceEventHandler {
	all := map[client.Object]toolscache.ResourceEventHandler{
		&corev1.Node{}: f.handler(f.setNode, f.forgetNode),
		&appsv1.DaemonSet{}: f.handler(
			func(o any) { f.live.SetDaemonSet(o.(*appsv1.DaemonSet)) },
			func(o any) { f.live.ForgetDaemonSet(o.(*appsv1.DaemonSet).UID) }),
		&resourcev1.DeviceClass{}: f.handler(
			func(o any) { f.live.SetDeviceClass(o.(*resourcev1.DeviceClass)) },
			func(o any) { f.live.ForgetDeviceClass(o.(*resourcev1.DeviceClass).Name) }),
	}
	if f.Apart {
		return all
	}
	all[&v1alpha1.NodePool{}] = f.handler(
		func(o any) { f.live.SetPool(o.(*v1alpha1.NodePool)) },
		func(o any) { f.live.ForgetPool(o.(*v1alpha1.NodePool).Name) })
	all[&v1alpha1.Provider{}] = f.handler(
		func(o any) { f.live.SetProvider(o.(*v1alpha1.Provider)) },
		func(o any) { f.live.ForgetProvider(o.(*v1alpha1.Provider).Name) })
	all[&v1alpha1.NodeClaim{}] = f.handler(f.setClaim, f.forgetClaim)
	return all
}

func (f *Feed) register(ctx context.Context) error {
	for object, handler := range f.watches() {
		informer, err := f.cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		if _, ok := object.(*corev1.Node); ok {
			if err := f.indexNodes(informer); err != nil {
				return err
			}
		}
		r, err := informer.AddEventHandler(handler)
		if err != nil {
			return fmt.Errorf("watch %T: %w", object, err)
		}
		f.await(fmt.Sprintf("%T", object), r.HasSynced)
	}
	return nil
}

func (f *Feed) await(resource string, synced toolscache.InformerSynced) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[resource] = func() bool {
		if !synced() {
			return false
		}
		f.troubles.note(resource, nil)
		return true
	}
}

func (f *Feed) handler(set, forget func(any)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { set(o); f.tell(o, false) },
		UpdateFunc: func(_, fresh any) { set(fresh); f.tell(fresh, false) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			forget(o)
			f.tell(o, true)
		},
	}
}

func (f *Feed) tell(o any, gone bool) {
	if object, ok := o.(metav1.Object); ok {
		f.observe(object, gone)
	}
}

func (f *Feed) setNode(o any) {
	n := o.(*corev1.Node)
	f.live.SetNode(n, f.Now())
	f.OnNode(n, false)
}

func (f *Feed) forgetNode(o any) {
	n := o.(*corev1.Node)
	f.live.ForgetNode(n.Name)
	f.OnNode(n, true)
}

func (f *Feed) setClaim(o any) {
	c := o.(*v1alpha1.NodeClaim)
	f.live.SetClaim(c)
	f.OnClaim(c.Name)
}

func (f *Feed) forgetClaim(o any) {
	c := o.(*v1alpha1.NodeClaim)
	f.live.ForgetClaim(c.Name, c.UID)
	f.OnClaim(c.Name)
}
