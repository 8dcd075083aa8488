package replay

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// life is one arrival, from its creation to its end. A pod that loses its node comes again under a new UID, as its
// controller would make it, and goes on being the same life.
type life struct {
	arrival Arrival
	arrived time.Time
	placed  time.Time // when it was first bound; zero while it was not
	uid     types.UID
	state   lifeState
	started time.Time     // by its kubelet; zero while it is not
	ran     time.Duration // before it lost its node
}

type lifeState int

const (
	lifeNew lifeState = iota // not there yet
	lifeWaits
	lifeRuns // bound
	lifeDone // ran as long as it was to
	lifeLeft // deleted by its owner
)

// pods is what happens to pods: kubelets start and end them, their owners delete them, controllers make them again, and
// the garbage collector removes those of vanished nodes.
type pods struct {
	agenda  *agenda
	api     *api
	delays  Delays
	lives   map[types.UID]*life
	daemons []*daemon
	moved   func(from, to lifeState, l *life)
	timed   int // lives under way that end by themselves
	arrived int
	again   int // pods that were made again
	evicted int
}

func newPods(a *agenda, api *api, d Delays) *pods {
	p := &pods{
		agenda: a, api: api, delays: d, lives: map[types.UID]*life{}, moved: func(lifeState, lifeState, *life) {},
	}
	api.watch(0, p.see)
	return p
}

// arrive creates the pod of an arrival.
func (p *pods) arrive(a Arrival) {
	l := &life{arrival: a, arrived: p.agenda.now}
	p.arrived++
	p.create(l)
	if a.Leaves > 0 {
		p.timed++
		p.agenda.at(Zero.Add(a.Leaves), func() { p.leave(l) })
	}
}

func (p *pods) create(l *life) {
	pod := l.arrival.Pod.DeepCopy()
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: l.arrival.Pod.Status.QOSClass}
	pod.UID, pod.Spec.NodeName = "", ""
	p.api.stamp(pod) // the UID is known before the first watcher hears of it
	l.uid = pod.UID
	p.lives[pod.UID] = l
	p.move(l, lifeWaits)
	p.api.createPod(pod)
}

// leave is the owner's deletion.
func (p *pods) leave(l *life) {
	if l.state == lifeDone || l.state == lifeLeft {
		return
	}
	p.move(l, lifeLeft)
	p.stop(p.api.pods[l.uid])
}

// move takes a life to another state. Lives that end by themselves are counted while they are under way: those that are
// to leave, and those that run for a time.
func (p *pods) move(l *life, to lifeState) {
	from := l.state
	l.state = to
	if l.arrival.Runs > 0 && l.arrival.Leaves == 0 {
		p.timed += btoi(to == lifeRuns) - btoi(from == lifeRuns)
	}
	if l.arrival.Leaves > 0 && (to == lifeDone || to == lifeLeft) {
		p.timed--
	}
	p.moved(from, to, l)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// see starts pods that were bound, and cleans up after nodes that are gone.
func (p *pods) see(c change) {
	switch o := c.object().(type) {
	case *corev1.Pod:
		old, _ := c.old.(*corev1.Pod)
		if !c.gone() && o.Spec.NodeName != "" && (old == nil || old.Spec.NodeName == "") {
			p.bound(o)
		}
	case *corev1.Node:
		if c.gone() {
			p.agenda.after(orphaned, func() { p.collect(o.Name) })
			return
		}
		old, _ := c.old.(*corev1.Node)
		if nodeReady(o) && (old == nil || !nodeReady(old)) {
			p.runDaemons(o)
		}
	}
}

func (p *pods) bound(pod *corev1.Pod) {
	if l := p.lives[pod.UID]; l != nil && l.state == lifeWaits {
		if l.placed.IsZero() {
			l.placed = p.agenda.now
		}
		p.move(l, lifeRuns)
	}
	uid := pod.UID
	p.agenda.after(p.delays.PodStart, func() { p.start(uid) })
}

// start is the kubelet's: a pod on a node that is gone does not start.
func (p *pods) start(uid types.UID) {
	pod := p.api.pods[uid]
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	if p.api.nodes[pod.Spec.NodeName] == nil {
		p.agenda.after(orphaned, func() { p.collect(pod.Spec.NodeName) })
		return
	}
	now := p.api.now()
	p.api.changePod(uid, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	})
	if l := p.lives[uid]; l != nil {
		l.started = p.agenda.now
		if l.arrival.Runs > 0 {
			p.agenda.after(max(l.arrival.Runs-l.ran, 1), func() { p.finish(uid) })
		}
	}
}

func (p *pods) finish(uid types.UID) {
	pod, l := p.api.pods[uid], p.lives[uid]
	if pod == nil || pod.DeletionTimestamp != nil || l == nil || l.state != lifeRuns {
		return
	}
	p.move(l, lifeDone)
	p.api.changePod(uid, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	p.agenda.after(p.delays.Tidy, func() { p.remove(uid) })
}

func (p *pods) remove(uid types.UID) {
	p.api.removePod(uid)
	if l := p.lives[uid]; l != nil {
		delete(p.lives, uid)
		if l.state == lifeWaits || l.state == lifeRuns {
			p.again++
			l.interrupt(p.agenda.now)
			p.create(l)
		}
	}
}

// interrupt keeps what a pod has done: the next one goes on from there, as a service does, or a job that saves its state.
func (l *life) interrupt(now time.Time) {
	if !l.started.IsZero() {
		l.ran += now.Sub(l.started)
		l.started = time.Time{}
	}
}

// stop deletes a pod: one that runs takes a moment to stop.
func (p *pods) stop(pod *corev1.Pod) {
	if pod == nil || pod.DeletionTimestamp != nil {
		return
	}
	if pod.Spec.NodeName == "" || finished(pod) {
		p.remove(pod.UID)
		return
	}
	now := p.api.now()
	p.api.changePod(pod.UID, func(pod *corev1.Pod) { pod.DeletionTimestamp = &now })
	p.agenda.after(p.delays.PodStop, func() { p.remove(pod.UID) })
}

func (p *pods) evict(pod *corev1.Pod) {
	p.evicted++
	p.stop(pod)
}

// orphaned is how long pods of a vanished node are kept (the pod garbage collector's quarantine).
const orphaned = 40 * time.Second

func (p *pods) collect(node string) {
	if p.api.nodes[node] != nil {
		return
	}
	for _, pod := range p.api.podsOn(node) {
		p.remove(pod.UID)
	}
}
