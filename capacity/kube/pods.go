package kube

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/muster-sh/muster/capacity"
)

// podStore takes what a watch on pods delivers straight into the live view. A cluster has tens of thousands of pods, and
// most of a pod is what its containers run: an informer's cache of them would be larger than all the rest of Muster.
type podStore struct {
	live    *capacity.Live
	now     func() time.Time
	observe func(o metav1.Object, gone bool)
	synced  atomic.Bool

	mu    sync.Mutex
	known map[types.NamespacedName]types.UID
}

var _ toolscache.TransformingStore = (*podStore)(nil)

func newPodStore(live *capacity.Live, now func() time.Time) *podStore {
	return &podStore{
		live: live, now: now, observe: func(metav1.Object, bool) {}, known: map[types.NamespacedName]types.UID{},
	}
}

// compiled is a pod of the first list on its way into the view: its key for the reflector, and what the core keeps.
type compiled struct {
	metav1.ObjectMeta
	pod *capacity.Pod
}

// HasSynced says whether the first list is in.
func (s *podStore) HasSynced() bool { return s.synced.Load() }

// Transformer makes the reflector gather the first list in compiled form.
func (s *podStore) Transformer() toolscache.TransformFunc {
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return s.compile(pod), nil
		}
		return o, nil
	}
}

func (s *podStore) compile(pod *corev1.Pod) *compiled {
	s.observe(pod, false)
	return &compiled{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		pod:        s.live.Compile(pod),
	}
}

// Add takes in a pod.
func (s *podStore) Add(o any) error { return s.Update(o) }

// Update takes in a pod. Another pod that had its name before is gone, even when nobody said so.
func (s *podStore) Update(o any) error {
	c, err := s.read(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(c)
	return nil
}

func (s *podStore) take(c *compiled) {
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	if before, there := s.known[key]; there && before != c.UID {
		s.forget(key, before)
	}
	s.known[key] = c.UID
	s.live.TakePod(c.pod, s.now())
}

// Delete drops a pod.
func (s *podStore) Delete(o any) error {
	c, err := s.read(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
	delete(s.known, key)
	s.forget(key, c.UID)
	return nil
}

func (s *podStore) forget(key types.NamespacedName, uid types.UID) {
	s.live.ForgetPod(uid)
	s.observe(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: uid}}, true)
}

// Replace takes in a whole list: what is not in it is gone.
func (s *podStore) Replace(list []any, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[types.UID]bool, len(list))
	for _, o := range list {
		c, err := s.read(o)
		if err != nil {
			return err
		}
		there[c.UID] = true
		s.take(c)
	}
	for key, uid := range s.known {
		if !there[uid] {
			delete(s.known, key)
			s.forget(key, uid)
		}
	}
	s.synced.Store(true)
	return nil
}

// Resync has nothing to do: the view is never behind the watch.
func (s *podStore) Resync() error { return nil }

func (s *podStore) read(o any) (*compiled, error) {
	switch p := o.(type) {
	case *compiled:
		return p, nil
	case *corev1.Pod:
		return s.compile(p), nil
	}
	return nil, fmt.Errorf("the watch on pods delivered a %T", o)
}
