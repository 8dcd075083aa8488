package witness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Releases writes down when claims were closed, opened again and left, and when pods were bound and went, each by the
// version that the API server gave the write: versions of all kinds come from one clock, whatever order watches deliver them in.
type Releases struct {
	client client.WithWatch
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu     sync.Mutex
	err    error
	claims map[types.UID]*leaving
	pods   map[types.UID]*stay
	ours   map[types.UID]bool // pods that the story itself deleted
}

// leaving is what happened to one claim. 0 is never.
type leaving struct {
	node         string
	closed       []span // while it was asked to go
	given        uint64 // from here on the machine is being given back
	open, opened int    // index+1 of the span that has not ended; how many ended
}

type span struct{ from, to uint64 }

// stay is a pod on a node. 0 is never.
type stay struct {
	name, node  string
	bound, gone uint64
}

// WatchReleases begins to watch; Verdict ends it.
func WatchReleases(ctx context.Context, c client.WithWatch) *Releases {
	ctx, cancel := context.WithCancel(ctx)
	r := &Releases{client: c, stop: cancel, claims: map[types.UID]*leaving{}, pods: map[types.UID]*stay{}, ours: map[types.UID]bool{}}
	r.done.Go(func() { r.follow(ctx, &v1alpha1.NodeClaimList{}, r.claim) })
	r.done.Go(func() { r.follow(ctx, &corev1.PodList{}, r.pod) })
	return r
}

// Ours notes that the story deletes a pod.
func (r *Releases) Ours(pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ours[pod] = true
}

// follow reads a watch from its list on and goes on where it ended. What is missed cannot be vouched for.
func (r *Releases) follow(ctx context.Context, list client.ObjectList, note func(watch.EventType, client.Object, uint64)) {
	version := ""
	for ctx.Err() == nil {
		err := r.read(ctx, list, &version, note)
		if err != nil && ctx.Err() == nil {
			r.mu.Lock()
			r.err = err
			r.mu.Unlock()
			return
		}
	}
}

func (r *Releases) read(ctx context.Context, list client.ObjectList, version *string, note func(watch.EventType, client.Object, uint64)) error {
	w, err := r.client.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: *version}})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(client.Object)
		if !ok || e.Type == watch.Error {
			return fmt.Errorf("watch of %T: %v", list, e.Object)
		}
		at, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
		if err != nil {
			return err
		}
		*version = o.GetResourceVersion()
		r.mu.Lock()
		note(e.Type, o, at)
		r.mu.Unlock()
	}
	return nil
}

func (r *Releases) claim(event watch.EventType, o client.Object, at uint64) {
	c := o.(*v1alpha1.NodeClaim)
	l := r.claims[c.UID]
	if l == nil {
		l = &leaving{}
		r.claims[c.UID] = l
	}
	if c.Status.NodeName != "" {
		l.node = c.Status.NodeName
	}
	asked := c.Spec.Release != nil && event != watch.Deleted
	switch {
	case asked && l.open == 0:
		l.closed = append(l.closed, span{from: at})
		l.open = len(l.closed)
	case !asked && l.open > 0:
		l.closed[l.open-1].to, l.open = at, 0
		if event != watch.Deleted {
			l.opened++
		}
	}
	if l.given == 0 && c.Status.State == v1alpha1.ClaimReleasing {
		l.given = at
	}
}

func (r *Releases) pod(event watch.EventType, o client.Object, at uint64) {
	p := o.(*corev1.Pod)
	s := r.pods[p.UID]
	if s == nil {
		s = &stay{name: p.Name}
		r.pods[p.UID] = s
	}
	if s.node == "" && p.Spec.NodeName != "" {
		s.node, s.bound = p.Spec.NodeName, at
	}
	if s.gone == 0 && (event == watch.Deleted || p.DeletionTimestamp != nil) {
		s.gone = at
	}
}

// Counts says how many releases were begun, taken back and carried out, and how many pods were bound.
func (r *Releases) Counts() (begun, takenBack, carriedOut, bound int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.claims {
		begun, takenBack = begun+len(l.closed), takenBack+l.opened
		if l.given > 0 {
			carriedOut++
		}
	}
	for _, s := range r.pods {
		if s.bound > 0 {
			bound++
		}
	}
	return begun, takenBack, carriedOut, bound
}

// MostClosed is how many claims were on their way out at once, at the worst version of all.
func (r *Releases) MostClosed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	type edge struct {
		at   uint64
		step int
	}
	var edges []edge
	for _, l := range r.claims {
		for _, c := range l.closed {
			edges = append(edges, edge{c.from, 1})
			if c.to > 0 {
				edges = append(edges, edge{c.to, -1})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

// ReleaseFindings are what broke a promise, sorted.
type ReleaseFindings struct {
	Late    []string // bound to a node after it was closed
	Killed  []string // on a machine when it was given back, or deleted by somebody else than the story
	Pending int      // pods that were never bound
}

// Verdict stops watching and says what was found, or that something was missed.
func (r *Releases) Verdict() (ReleaseFindings, error) {
	r.stop()
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var f ReleaseFindings
	byNode := map[string][]*leaving{}
	for _, l := range r.claims {
		byNode[l.node] = append(byNode[l.node], l)
	}
	for uid, s := range r.pods {
		if s.bound == 0 {
			f.Pending++
			continue
		}
		if s.gone > 0 && !r.ours[uid] {
			f.Killed = append(f.Killed, fmt.Sprintf("pod %s on %s was deleted by somebody else", s.name, s.node))
		}
		for _, l := range byNode[s.node] {
			f.judge(s, l)
		}
	}
	slices.Sort(f.Late)
	slices.Sort(f.Killed)
	return f, r.err
}

func (f *ReleaseFindings) judge(s *stay, l *leaving) {
	for _, c := range l.closed {
		if s.bound > c.from && (c.to == 0 || s.bound < c.to) {
			f.Late = append(f.Late, fmt.Sprintf("pod %s was bound to %s at %d, closed from %d to %d", s.name, s.node, s.bound, c.from, c.to))
		}
	}
	if l.given > s.bound && (s.gone == 0 || s.gone > l.given) {
		f.Killed = append(f.Killed, fmt.Sprintf("pod %s was on %s from %d to %d, its machine given back at %d", s.name, s.node, s.bound, s.gone, l.given))
	}
}
