package witness

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Diary notes when pods of one namespace were first seen bound and nodes first seen Ready, by the clock of the test:
// the API's own timestamps have whole seconds only.
type Diary struct {
	client    kubernetes.Interface
	namespace string
	stop      context.CancelFunc
	done      sync.WaitGroup

	mu      sync.Mutex
	bound   map[types.UID]time.Time
	deleted map[types.UID]string
	ready   map[string]time.Time
}

type opener func(context.Context) (watch.Interface, error)

// KeepDiary begins to write; Close ends it.
func KeepDiary(ctx context.Context, client kubernetes.Interface, namespace string) *Diary {
	ctx, cancel := context.WithCancel(ctx)
	d := &Diary{client: client, namespace: namespace, stop: cancel,
		bound: map[types.UID]time.Time{}, deleted: map[types.UID]string{}, ready: map[string]time.Time{}}
	d.done.Go(func() { d.follow(ctx, d.watchPods, d.pod) })
	d.done.Go(func() { d.follow(ctx, d.watchNodes, d.node) })
	return d
}

// Close stops writing.
func (d *Diary) Close() {
	d.stop()
	d.done.Wait()
}

// Bound is when the pod was first seen bound.
func (d *Diary) Bound(pod types.UID) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.bound[pod]
	return at, ok
}

// NodeReady is when the node was first seen Ready.
func (d *Diary) NodeReady(node string) (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.ready[node]
	return at, ok
}

// Deleted names the pods that were being deleted or were gone.
func (d *Diary) Deleted() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, name := range d.deleted {
		names = append(names, name)
	}
	return names
}

// Forget strikes out the pods that were deleted so far: by the story itself.
func (d *Diary) Forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.deleted)
}

func (d *Diary) watchPods(ctx context.Context) (watch.Interface, error) {
	return d.client.CoreV1().Pods(d.namespace).Watch(ctx, metav1.ListOptions{})
}

func (d *Diary) watchNodes(ctx context.Context) (watch.Interface, error) {
	return d.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
}

func (d *Diary) follow(ctx context.Context, open opener, note func(watch.Event, time.Time)) {
	for ctx.Err() == nil {
		if err := read(ctx, open, note); err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

func read(ctx context.Context, open opener, note func(watch.Event, time.Time)) error {
	w, err := open(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			break
		}
		note(e, time.Now())
	}
	return fmt.Errorf("watch ended")
}

func (d *Diary) pod(e watch.Event, now time.Time) {
	p, ok := e.Object.(*corev1.Pod)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, noted := d.bound[p.UID]; !noted && p.Spec.NodeName != "" {
		d.bound[p.UID] = now
	}
	if e.Type == watch.Deleted || p.DeletionTimestamp != nil {
		d.deleted[p.UID] = p.Name
	}
}

func (d *Diary) node(e watch.Event, now time.Time) {
	n, ok := e.Object.(*corev1.Node)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if e.Type == watch.Deleted {
		delete(d.ready, n.Name)
		return
	}
	for _, c := range n.Status.Conditions {
		if _, noted := d.ready[n.Name]; !noted && c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			d.ready[n.Name] = now
		}
	}
}
