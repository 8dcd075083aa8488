package replay

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// The bounds of a Timeline: what a picture can show, and what a browser likes to hold.
const (
	maxMoments  = 4096
	maxLanes    = 1000
	maxLanePods = 20_000
)

// Timeline is what happened in a world, to be drawn. It has bounds, however long the replay is: moments are merged when
// they get too many, and machines and pods past the bounds are counted only. It is an Options.Timeline.
type Timeline struct {
	Moments []Moment
	Lanes   []*Lane
	// MoreLanes and MorePods are how many machines and stays of pods had no place.
	MoreLanes, MorePods int
	// Waits are the 0th, 0.5th, … 100th percentile of the time from arrival to binding, in seconds; empty without a pod
	// that was bound.
	Waits []float64

	every   time.Duration // moments closer than that are one
	latest  Moment        // as it was last observed; the last of Moments may be merged
	claims  map[string]*Lane
	nodes   map[string]*Lane
	stays   map[types.UID]*Stretch // of pods on machines, under way
	pods    int
	waiting map[types.UID]int64 // milli CPU of the pods that have no node
	asked   int64               // and their sum
}

// Moment is the demand and the room at one time. Where moments were merged, it is the most of each.
type Moment struct {
	At             time.Duration // from Zero
	Nodes          int           // of bought machines
	Waiting, Bound int           // pods
	// Wanted is what waiting and bound pods ask for, Room what bought nodes offer, in milli CPU. Pods on nodes that were
	// there before are in neither.
	Wanted, Room int64
}

// Lane is one machine over time.
type Lane struct {
	Claim, Pool, Shape string
	// For are the pods it was ordered for, the first few by name, and how many there were; none for a machine that keeps
	// a pool's minimum.
	For      []string
	ForCount int
	States   []Stretch
	Pods     []*Stretch
}

// Stretch is the time in which a claim was in a state, or a pod on a node. To is negative while it lasts.
type Stretch struct {
	Name     string
	From, To time.Duration
}

// NewTimeline makes an empty timeline.
func NewTimeline() *Timeline {
	return &Timeline{claims: map[string]*Lane{}, nodes: map[string]*Lane{}, stays: map[types.UID]*Stretch{}, waiting: map[types.UID]int64{}}
}

// Timeline is what the world's Options.Timeline saw, completed; nil without one.
func (w *World) Timeline() *Timeline {
	t := w.options.Timeline
	if t == nil {
		return nil
	}
	t.observe(w.moment())
	t.settle()
	t.Waits = quantiles(w.meter.waits)
	return t
}

func (w *World) moment() Moment {
	m := w.meter
	return Moment{
		At: w.agenda.now.Sub(Zero), Nodes: len(m.nodes), Waiting: m.states[lifeWaits], Bound: m.states[lifeRuns],
		Wanted: w.options.Timeline.asked + int64(m.level.cpuUsed), Room: int64(m.level.cpu),
	}
}

// observe takes in where the world stands, when that is news.
func (t *Timeline) observe(next Moment) {
	n := len(t.Moments)
	if n > 0 && next.like(t.latest) {
		return
	}
	switch last := t.last(); {
	case n == 0:
		t.Moments = append(t.Moments, next)
	case next.At == last.At && last.like(t.latest):
		*last = next // what passed in no time is not shown
	case next.At-last.At < t.every:
		last.merge(next)
	default:
		t.settle()
		t.Moments = append(t.Moments, next)
	}
	t.latest = next
	if len(t.Moments) > maxMoments {
		t.thin()
	}
}

func (t *Timeline) last() *Moment {
	if len(t.Moments) == 0 {
		return nil
	}
	return &t.Moments[len(t.Moments)-1]
}

// settle ends a merged moment with how things stood after it.
func (t *Timeline) settle() {
	if last := t.last(); last != nil && !last.like(t.latest) {
		t.Moments = append(t.Moments, t.latest)
	}
}

// like says whether only the time differs.
func (m *Moment) like(o Moment) bool {
	o.At = m.At
	return *m == o
}

// merge keeps the most of each, so that no peak gets lost.
func (m *Moment) merge(o Moment) {
	m.Nodes, m.Waiting, m.Bound = max(m.Nodes, o.Nodes), max(m.Waiting, o.Waiting), max(m.Bound, o.Bound)
	m.Wanted, m.Room = max(m.Wanted, o.Wanted), max(m.Room, o.Room)
}

// thin makes room for as many moments again.
func (t *Timeline) thin() {
	all := t.Moments
	t.every = max(2*t.every, (t.last().At-all[0].At)/(maxMoments/4))
	t.Moments = nil
	for _, m := range all {
		t.observe(m)
	}
}

func (t *Timeline) see(c change, at time.Duration) {
	switch o := c.object().(type) {
	case *v1alpha1.NodeClaim:
		t.seeClaim(c, o, at)
	case *corev1.Pod:
		t.seePod(c, o, at)
	}
}

func (t *Timeline) seeClaim(c change, o *v1alpha1.NodeClaim, at time.Duration) {
	l := t.claims[o.Name]
	if c.gone() {
		l.end(at)
		delete(t.claims, o.Name)
		return
	}
	if c.old == nil {
		l = t.begin(o)
	}
	state := o.Status.State
	if state == "" {
		state = v1alpha1.ClaimPending
	}
	l.enter(string(state), at)
	if o.Status.NodeName != "" {
		t.nodes[o.Status.NodeName] = l
	}
}

// shownFor is how many of the pods that a machine was ordered for are named.
const shownFor = 5

// begin makes the lane of a new claim; one without a place in the picture is nil.
func (t *Timeline) begin(c *v1alpha1.NodeClaim) *Lane {
	if len(t.Lanes) == maxLanes {
		t.MoreLanes++
		t.claims[c.Name] = nil
		return nil
	}
	l := &Lane{Claim: c.Name, Pool: c.Spec.Pool, Shape: c.Spec.Shape, ForCount: len(c.Spec.Reserved)}
	for _, p := range c.Spec.Reserved[:min(len(c.Spec.Reserved), shownFor)] {
		l.For = append(l.For, p.Name)
	}
	t.Lanes = append(t.Lanes, l)
	t.claims[c.Name] = l
	return l
}

func (l *Lane) enter(state string, at time.Duration) {
	if l == nil {
		return
	}
	if n := len(l.States); n > 0 && l.States[n-1].Name == state {
		return
	}
	l.end(at)
	l.States = append(l.States, Stretch{Name: state, From: at, To: -1})
}

func (l *Lane) end(at time.Duration) {
	if l == nil || len(l.States) == 0 {
		return
	}
	l.States[len(l.States)-1].To = at
}

func (t *Timeline) seePod(c change, p *corev1.Pod, at time.Duration) {
	old, _ := c.old.(*corev1.Pod)
	switch {
	case c.gone() || finished(p):
		t.served(p.UID)
		t.leaves(p.UID, at)
	case old == nil && p.Spec.NodeName == "":
		t.waiting[p.UID] = capacity.PodOf(p).Ask.Requests.MilliCPU
		t.asked += t.waiting[p.UID]
	case p.Spec.NodeName != "" && old != nil && old.Spec.NodeName == "":
		t.served(p.UID)
		t.enters(p, at)
	}
}

func (t *Timeline) served(uid types.UID) {
	t.asked -= t.waiting[uid]
	delete(t.waiting, uid)
}

func (t *Timeline) enters(p *corev1.Pod, at time.Duration) {
	l := t.nodes[p.Spec.NodeName]
	switch {
	case l == nil:
	case t.pods == maxLanePods:
		t.MorePods++
	default:
		t.pods++
		s := &Stretch{Name: p.Name, From: at, To: -1}
		l.Pods = append(l.Pods, s)
		t.stays[p.UID] = s
	}
}

func (t *Timeline) leaves(uid types.UID, at time.Duration) {
	if s := t.stays[uid]; s != nil {
		s.To = at
		delete(t.stays, uid)
	}
}

// quantiles are the values at every half percent, 201 of them.
func quantiles(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	all := make([]float64, 201)
	for i := range all {
		all[i] = round(sorted[(len(sorted)-1)*i/200])
	}
	return all
}
