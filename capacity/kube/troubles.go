package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// troubles remembers, for each watch that does not get through, what the API server said last. A right that is missing
// would otherwise look like a cluster that is slow to answer.
type troubles struct {
	mu   sync.Mutex
	last map[string]error
}

func newTroubles() *troubles { return &troubles{last: map[string]error{}} }

func (t *troubles) note(resource string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		delete(t.last, resource)
		return
	}
	t.last[resource] = err
}

// watched makes a list and watch tell how it went.
func (t *troubles) watched(resource string, lw *toolscache.ListWatch) *toolscache.ListWatch {
	list, open := lw.ListWithContextFunc, lw.WatchFuncWithContext
	lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		found, err := list(ctx, o)
		t.note(resource, err)
		return found, err
	}
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := open(ctx, o)
		t.note(resource, err)
		return w, err
	}
	return lw
}

// handler is for the informers, which tell the kind only.
func (t *troubles) handler(ctx context.Context, r *toolscache.Reflector, err error) {
	t.note(r.TypeDescription(), err)
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

// text says what is missing, and what to do where it is a right.
func (t *troubles) text(missing []string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	forbidden := false
	for _, err := range t.last {
		forbidden = forbidden || apierrors.IsForbidden(err)
	}
	text := "the watches have not delivered the whole cluster yet; missing: " + strings.Join(missing, ", ")
	for _, resource := range slices.Sorted(maps.Keys(t.last)) {
		text += fmt.Sprintf("; %s: %v", resource, t.last[resource])
	}
	if forbidden {
		text += "; the rights that Muster needs are in deploy/rbac"
	}
	return text
}
