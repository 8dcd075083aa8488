package witness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// Overbooking checks that no node's pods ask for more than it can give: at every pod event, and once a second from an
// uncached list of everything.
type Overbooking struct {
	client kubernetes.Interface
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	found  []string
	lists  int
	events int
	peak   int // most pods bound at once
}

// WatchOverbooking begins to watch; Verdict ends it.
func WatchOverbooking(ctx context.Context, client kubernetes.Interface) *Overbooking {
	ctx, cancel := context.WithCancel(ctx)
	o := &Overbooking{client: client, stop: cancel}
	o.done.Go(func() { o.everySecond(ctx) })
	o.done.Go(func() { o.everyEvent(ctx) })
	return o
}

// Verdict looks one last time, stops watching and returns what was found, or an error if the last look failed.
func (o *Overbooking) Verdict(ctx context.Context) ([]string, error) {
	err := o.look(ctx)
	o.stop()
	o.done.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		return o.found, fmt.Errorf("last look at nodes and pods: %w", err)
	}
	if o.lists == 0 {
		return o.found, fmt.Errorf("no look at nodes and pods ever succeeded")
	}
	return o.found, nil
}

// Figures says how closely was looked.
func (o *Overbooking) Figures() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return fmt.Sprintf("%d lists and %d pod events checked, at most %d pods bound at once", o.lists, o.events, o.peak)
}

func (o *Overbooking) everySecond(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			_ = o.look(ctx) // a failed look is made again; the last one, in Verdict, must succeed
		}
	}
}

// look lists pods first: a node that joins in between is then missing its pods, never the other way round.
func (o *Overbooking) look(ctx context.Context) error {
	pods, err := o.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	nodes, err := o.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	book := NewBook()
	for i := range nodes.Items {
		book.SetNode(&nodes.Items[i])
	}
	for i := range pods.Items {
		book.SetPod(&pods.Items[i])
	}
	o.note(book, book.OverAnywhere(), &o.lists)
	return nil
}

func (o *Overbooking) note(book *Book, over []string, counter *int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*counter++
	o.peak = max(o.peak, book.Pods())
	for _, finding := range over {
		if !slices.Contains(o.found, finding) {
			o.found = append(o.found, finding)
		}
	}
}

// everyEvent keeps a book along two watches and checks the node of every pod event.
func (o *Overbooking) everyEvent(ctx context.Context) {
	for ctx.Err() == nil {
		if err := o.followWatches(ctx); err != nil {
			select { // the API server closed a watch or is busy; begin again with fresh lists
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

func (o *Overbooking) followWatches(ctx context.Context) error {
	nodes, err := o.client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{}) // without a version: all, then changes
	if err != nil {
		return err
	}
	defer nodes.Stop()
	pods, err := o.client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer pods.Stop()
	book := NewBook()
	for {
		select {
		case e, open := <-nodes.ResultChan():
			if !open || e.Type == watch.Error {
				return fmt.Errorf("watch of nodes ended")
			}
			o.nodeEvent(book, e)
		case e, open := <-pods.ResultChan():
			if !open || e.Type == watch.Error {
				return fmt.Errorf("watch of pods ended")
			}
			o.podEvent(book, e)
		}
	}
}

func (o *Overbooking) nodeEvent(book *Book, e watch.Event) {
	node, ok := e.Object.(*corev1.Node)
	switch {
	case !ok:
	case e.Type == watch.Deleted:
		book.DropNode(node.Name)
	default:
		book.SetNode(node)
	}
}

func (o *Overbooking) podEvent(book *Book, e watch.Event) {
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return
	}
	if e.Type == watch.Deleted {
		book.DropPod(pod)
		return
	}
	if node := book.SetPod(pod); node != "" {
		o.note(book, book.Over(node), &o.events)
	}
}
