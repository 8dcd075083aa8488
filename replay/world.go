package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/control"
	"github.com/muster-sh/muster/policy"
	"github.com/muster-sh/muster/provider/sim"
)

// Scheduler is the name of the world's scheduler: pods that carry it are placed by Muster.
const Scheduler = "muster"

// Options say what a world begins with.
type Options struct {
	Pools     []*v1alpha1.NodePool
	Providers []*v1alpha1.Provider
	// Nodes that exist already and belong to nobody, and the pods and DaemonSets on them. Pods without a node arrive at
	// the start.
	Nodes         []*corev1.Node
	Pods          []*corev1.Pod
	DaemonSets    []*appsv1.DaemonSet
	DeviceClasses []*resourcev1.DeviceClass

	Load Load
	// Start is the world's first moment, from Zero; without it, the first arrival's.
	Start *time.Duration
	// Seed alters boot times and failures of the simulated machines.
	Seed int64
	// Tail is how long the world goes on after the last pod arrived, was placed or ended, when pods still wait then; an
	// hour unless given.
	Tail time.Duration
	// Delays are DefaultDelays unless given.
	Delays *Delays
	// Batch is policy.DefaultBatch unless given.
	Batch *policy.Batch
	// Settle is how long a restarted Muster answers no filter call; 5 s unless given. A world's first Muster is settled.
	Settle *time.Duration
	// Exact has the scheduler try a refused pod again at every event, as kube-scheduler does. Without it, retries that
	// cannot but fail again are left out, which alters the order of pods by the milliseconds that they took, and makes
	// large replays much faster.
	Exact bool
	// Log gets what Muster logs; nothing is logged without it.
	Log *slog.Logger
	// Note is told what happens, as it happens.
	Note func(Note)
}

func (o *Options) fill() {
	if o.Tail == 0 {
		o.Tail = time.Hour
	}
	if o.Delays == nil {
		d := DefaultDelays()
		o.Delays = &d
	}
	if o.Batch == nil {
		b := policy.DefaultBatch
		o.Batch = &b
	}
	if o.Settle == nil {
		s := 5 * time.Second
		o.Settle = &s
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Note == nil {
		o.Note = func(Note) {}
	}
}

// World is a cluster in memory with a Muster in it. It is used by one goroutine at a time.
type World struct {
	options   Options
	agenda    *agenda
	api       *api
	kube      *kube
	machines  *machines
	pods      *pods
	scheduler *scheduler
	backends  backends
	meter     *meter
	muster    *muster
	start     time.Time
	latest    time.Time // when a pod last arrived, was placed or ended
	loaded    bool      // the load has no more arrivals
	failed    error
	steps     int
}

// New makes a world at its first moment.
func New(o Options) (*World, error) {
	o.fill()
	first, err := o.Load.Next()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	w := &World{options: o, loaded: err != nil, agenda: &agenda{}}
	w.start = Zero.Add(first.At)
	if o.Start != nil {
		w.start = Zero.Add(*o.Start)
	}
	w.agenda.now, w.latest = w.start, w.start
	if err := w.build(); err != nil {
		return nil, err
	}
	w.populate()
	settle := *o.Settle
	w.muster = w.newMuster(0)
	w.options.Settle = &settle
	if !w.loaded {
		w.expect(first)
	}
	return w, nil
}

// build connects the parts. Who watches first, hears first.
func (w *World) build() error {
	o := &w.options
	w.api = newAPI(w.agenda, o.Seed)
	w.meter = newMeter(w.agenda, w.api)
	providers := withMissing(o.Providers, o.Pools)
	var err error
	w.backends, err = newBackends(providers, o.Seed, w.Now, w.meter.saw)
	if err != nil {
		return err
	}
	w.pods = newPods(w.agenda, w.api, *o.Delays)
	w.pods.moved = w.podMoved
	w.machines = newMachines(w.agenda, w.api, *o.Delays, w.backends.clouds())
	w.machines.joins = func(m sim.Machine) { w.meter.saw(m.Machine) }
	w.machines.gone = w.meter.gone
	client := &extenderClient{handler: func() http.Handler {
		if w.muster == nil {
			return nil
		}
		return w.muster.handler
	}}
	w.scheduler = newScheduler(w.agenda, w.api, *o.Delays, Scheduler, client)
	w.scheduler.exact = o.Exact
	w.kube = &kube{api: w.api, evict: w.pods.stop, record: w.event}
	w.api.watch(0, w.note)
	for _, p := range providers {
		p = p.DeepCopy()
		w.api.stamp(p)
		w.api.providers[p.Name] = p
	}
	for _, p := range o.Pools {
		p = p.DeepCopy()
		w.api.stamp(p)
		w.api.pools[p.Name] = p
	}
	return nil
}

// withMissing adds a simulated Provider for every name that pools use and nobody defines.
func withMissing(providers []*v1alpha1.Provider, pools []*v1alpha1.NodePool) []*v1alpha1.Provider {
	all := slices.Clone(providers)
	for _, pool := range pools {
		if !slices.ContainsFunc(all, func(p *v1alpha1.Provider) bool { return p.Name == pool.Spec.Provider }) {
			all = append(all, &v1alpha1.Provider{
				ObjectMeta: metav1.ObjectMeta{Name: pool.Spec.Provider}, Spec: v1alpha1.ProviderSpec{Type: v1alpha1.ProviderSim},
			})
		}
	}
	return all
}

// populate creates what exists already.
func (w *World) populate() {
	o := &w.options
	w.api.classes = o.DeviceClasses
	for _, set := range o.DaemonSets {
		set = set.DeepCopy()
		w.api.stamp(set)
		w.api.daemons = append(w.api.daemons, set)
		w.pods.daemons = append(w.pods.daemons, &daemon{set: set, rule: capacity.NewDaemon(set)})
	}
	for _, n := range o.Nodes {
		w.api.createNode(n.DeepCopy())
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName == "" {
			w.pods.arrive(Arrival{At: w.start.Sub(Zero), Pod: p})
			continue
		}
		w.api.createPod(p.DeepCopy())
	}
}

func (w *World) newMuster(settle time.Duration) *muster {
	return newMuster(parts{
		agenda: w.agenda, api: w.api, kube: w.kube, backends: w.backends, delays: *w.options.Delays, log: w.options.Log,
		schedulers: capacity.Schedulers{Place: sets.New(Scheduler)}, settle: settle,
		machines: func(string, int, int) {},
	}, *w.options.Batch)
}

// Now is the world's time.
func (w *World) Now() time.Time { return w.agenda.now }

// Kill ends Muster as SIGKILL does. The rest of the world goes on.
func (w *World) Kill() {
	if w.muster != nil {
		w.muster.stop()
		w.muster = nil
	}
}

// Revive starts a new Muster, which knows nothing but what the API server and the providers tell it.
func (w *World) Revive() {
	w.Kill()
	w.muster = w.newMuster(*w.options.Settle)
}

// expect has an arrival come in its time, and then asks the load for the next one.
func (w *World) expect(a Arrival) {
	w.agenda.at(Zero.Add(a.At), func() {
		w.pods.arrive(a)
		next, err := w.options.Load.Next()
		switch {
		case errors.Is(err, io.EOF):
			w.loaded = true
		case err != nil:
			w.failed = err
		default:
			w.expect(next)
		}
	})
}

func (w *World) podMoved(from, to lifeState, l *life) {
	w.latest = w.agenda.now
	w.meter.moved(from, to, l)
}

// Step does the next thing there is to do, and returns false when nothing is left or the world is over.
func (w *World) Step() bool {
	if w.failed != nil || w.over() || !w.agenda.next() {
		return false
	}
	w.steps++
	w.machines.poll()
	if w.muster != nil {
		w.muster.poll()
	}
	return true
}

// over says whether pods only wait in vain.
func (w *World) over() bool {
	return w.loaded && w.pods.timed == 0 && w.agenda.now.Sub(w.latest) > w.options.Tail
}

// RunUntil steps up to a moment, which the world's clock then shows; false when the world ended before.
func (w *World) RunUntil(t time.Time) bool {
	for {
		at, ok := w.agenda.upcoming()
		if !ok || w.over() || w.failed != nil {
			return false
		}
		if at.After(t) {
			break
		}
		w.Step()
	}
	w.agenda.now = t
	return true
}

// Run steps to the end. When ctx ends, it stops where it is and returns the context's error; the world may be summed up
// then as well.
func (w *World) Run(ctx context.Context) error {
	for w.Step() {
		if w.steps%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if w.failed != nil {
		return fmt.Errorf("read the load: %w", w.failed)
	}
	return nil
}

func (w *World) event(about control.Subject, warning bool, reason, message string) {
	w.options.Note(Note{At: w.agenda.now, Kind: about.Kind, Name: about.Name, Reason: reason, Message: message, Warning: warning})
}
