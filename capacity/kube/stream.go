package kube

import (
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

// stream takes what a watch delivers straight into the live view, as podStore does for pods: the core keeps a tenth of
// such an object, and nobody asks for the rest. It remembers names, so that a new list shows what is gone.
type stream struct {
	set    func(metav1.Object)
	forget func(types.NamespacedName)
	synced atomic.Bool

	mu    sync.Mutex
	known map[types.NamespacedName]bool
}

var _ toolscache.TransformingStore = (*stream)(nil)

func newStream(set func(metav1.Object), forget func(types.NamespacedName)) *stream {
	return &stream{set: set, forget: forget, known: map[types.NamespacedName]bool{}}
}

// HasSynced says whether the first list is in.
func (s *stream) HasSynced() bool { return s.synced.Load() }

// Transformer drops what nobody reads while the first list is still gathered.
func (s *stream) Transformer() toolscache.TransformFunc { return strip }

// Add takes in an object.
func (s *stream) Add(o any) error { return s.Update(o) }

// Update takes in an object.
func (s *stream) Update(o any) error {
	object, key, err := read(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = true
	s.set(object)
	return nil
}

// Delete drops an object.
func (s *stream) Delete(o any) error {
	_, key, err := read(o)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
	return nil
}

// Replace takes in a whole list: what is not in it is gone.
func (s *stream) Replace(list []any, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := make(map[types.NamespacedName]bool, len(list))
	for _, o := range list {
		object, key, err := read(o)
		if err != nil {
			return err
		}
		there[key], s.known[key] = true, true
		s.set(object)
	}
	for key := range s.known {
		if !there[key] {
			s.drop(key)
		}
	}
	s.synced.Store(true)
	return nil
}

// Resync has nothing to do: the view is never behind the watch.
func (s *stream) Resync() error { return nil }

func (s *stream) drop(key types.NamespacedName) {
	delete(s.known, key)
	s.forget(key)
}

func read(o any) (metav1.Object, types.NamespacedName, error) {
	object, err := meta.Accessor(o)
	if err != nil {
		return nil, types.NamespacedName{}, fmt.Errorf("a watch delivered a %T: %w", o, err)
	}
	return object, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}, nil
}
