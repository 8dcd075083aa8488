package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay/recording"
)

// Recorded is what a recording holds of a cluster: what somebody else decided, which a replay takes as it was, and what
// Muster decided, which a replay decides again.
type Recorded struct {
	// From and To are the recording's first and last moment.
	From, To time.Time
	// Pools, Providers and DaemonSets are those that existed last. Providers are simulated; machines take as long to boot
	// as those in the recording did.
	Pools      []*v1alpha1.NodePool
	Providers  []*v1alpha1.Provider
	DaemonSets []*appsv1.DaemonSet
	// Nodes are those that existed at the beginning and no claim made; Pods stood on them and were nobody's concern.
	Nodes []*corev1.Node
	Pods  []*corev1.Pod
	// Machines are what was bought, in order.
	Machines []RecordedMachine
	Damages  []recording.Damage

	arrivals []Arrival
}

// RecordedMachine is one machine of a recording.
type RecordedMachine struct {
	Pool, Shape string
	// Bought and Released are since the recording's beginning; Released is negative where it was not.
	Bought, Released time.Duration
}

// Load brings the recorded pods; each call begins anew.
func (r *Recorded) Load() Load { return &arrivals{r.arrivals} }

// ReadRecording reads a recording. Pods of Muster's schedulers arrive as they did. Those of a Deployment or a StatefulSet
// leave when they left; others run as long as they ran. Pods that stood on Muster's machines at the beginning arrive then.
func ReadRecording(path string) (*Recorded, error) {
	m := &memory{
		pods: map[types.UID]*recordedPod{}, nodes: map[types.UID]*corev1.Node{}, claims: map[types.UID]*recordedClaim{},
		pools: map[types.UID]*v1alpha1.NodePool{}, providers: map[types.UID]*v1alpha1.Provider{},
		daemons: map[types.UID]*appsv1.DaemonSet{}, ours: sets.New[string](),
	}
	damages, err := recording.Read(path, m.begin, m.see)
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	if len(m.pools) == 0 {
		return nil, fmt.Errorf("read the recording: %s: no NodePool in it", path)
	}
	r := m.recorded()
	r.Damages = damages
	return r, nil
}

// memory is what a recording came to so far.
type memory struct {
	run      int // of how many processes this is
	id       string
	from, to time.Time
	ours     sets.Set[string] // schedulers

	pods      map[types.UID]*recordedPod
	nodes     map[types.UID]*corev1.Node // as first seen
	claims    map[types.UID]*recordedClaim
	pools     map[types.UID]*v1alpha1.NodePool
	providers map[types.UID]*v1alpha1.Provider
	daemons   map[types.UID]*appsv1.DaemonSet
}

// recordedPod is a pod from its first sight to its last. Zero times are not known.
type recordedPod struct {
	pod                           *corev1.Pod // as first seen
	first, bound, finished, ended time.Time
	run                           int
}

type recordedClaim struct {
	claim          *v1alpha1.NodeClaim // as last seen
	made, released time.Time
}

func (m *memory) begin(_ string, h recording.Header) error {
	if m.from.IsZero() {
		m.from, m.to = h.Started, h.Started
	}
	if h.Recording != m.id {
		m.endRun()
		m.id = h.Recording
		m.run++
	}
	m.ours.Insert(h.Place...).Insert(h.Guard...)
	return nil
}

// endRun is the end of a process: pods that the next one does not see ended some time in between.
func (m *memory) endRun() {
	for _, p := range m.pods {
		if p.ended.IsZero() && p.run < m.run {
			p.ended = m.to
		}
	}
}

func (m *memory) see(e recording.Entry) error {
	if e.At.After(m.to) {
		m.to = e.At
	}
	if e.Object == nil {
		return nil
	}
	switch e.Object.Kind {
	case "Pod":
		return decodeInto(e, m.seePod)
	case "Node":
		return decodeInto(e, func(n *corev1.Node, at time.Time, _ bool) {
			if m.nodes[n.UID] == nil && (m.run == 1 && !at.After(m.from.Add(listed))) {
				m.nodes[n.UID] = n
			}
		})
	case "NodeClaim":
		return decodeInto(e, m.seeClaim)
	case "NodePool":
		return decodeInto(e, keepLast(m.pools))
	case "Provider":
		return decodeInto(e, keepLast(m.providers))
	case "DaemonSet":
		return decodeInto(e, keepLast(m.daemons))
	}
	return nil
}

// listed is how long the first lists of the watches take: what comes then was there before.
const listed = 5 * time.Second

func decodeInto[T any](e recording.Entry, take func(o *T, at time.Time, gone bool)) error {
	o := new(T)
	if err := json.Unmarshal(e.Object.Body, o); err != nil {
		return fmt.Errorf("%s: %w", e.Object.Kind, err)
	}
	take(o, e.At, e.Object.Gone)
	return nil
}

func keepLast[T any, P interface {
	*T
	metav1.Object
}](all map[types.UID]P) func(*T, time.Time, bool) {
	return func(o *T, _ time.Time, gone bool) {
		if gone {
			delete(all, P(o).GetUID())
			return
		}
		all[P(o).GetUID()] = o
	}
}

func (m *memory) seePod(p *corev1.Pod, at time.Time, gone bool) {
	r := m.pods[p.UID]
	switch {
	case r == nil && gone:
		return
	case r == nil:
		r = &recordedPod{pod: p, first: at}
		m.pods[p.UID] = r
	}
	r.run = m.run
	if gone {
		r.ended = at
		return
	}
	r.ended = time.Time{}
	if p.Spec.NodeName != "" && r.bound.IsZero() {
		r.bound = at
	}
	if finished(p) && r.finished.IsZero() {
		r.finished = at
	}
}

func (m *memory) seeClaim(c *v1alpha1.NodeClaim, at time.Time, gone bool) {
	r := m.claims[c.UID]
	if r == nil {
		if gone {
			return
		}
		r = &recordedClaim{made: at}
		m.claims[c.UID] = r
	}
	if gone {
		r.released = at
		return
	}
	r.claim = c
}

// recorded sorts out who decided what.
func (m *memory) recorded() *Recorded {
	r := &Recorded{From: m.from, To: m.to, Pools: byName(m.pools), DaemonSets: byName(m.daemons)}
	made := sets.New[string]()
	for _, c := range m.claims {
		if c.claim.Status.NodeName != "" {
			made.Insert(c.claim.Status.NodeName)
		}
	}
	foreign := sets.New[string]()
	for _, n := range byName(m.nodes) {
		if !made.Has(n.Name) {
			n.UID, n.CreationTimestamp = "", metav1.Time{}
			r.Nodes = append(r.Nodes, n)
			foreign.Insert(n.Name)
		}
	}
	m.sortPods(r, foreign)
	r.Providers = m.simulated()
	r.Machines = m.machines()
	return r
}

func byName[T metav1.Object](all map[types.UID]T) []T {
	return slices.SortedFunc(maps.Values(all), func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
	})
}

// sortPods tells arrivals from pods that are only there.
func (m *memory) sortPods(r *Recorded, foreign sets.Set[string]) {
	all := slices.SortedFunc(maps.Values(m.pods), func(a, b *recordedPod) int {
		return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.pod.UID, b.pod.UID))
	})
	for _, p := range all {
		_, mirror := p.pod.Annotations[corev1.MirrorPodAnnotationKey]
		daemon := controllerKind(p.pod) == "DaemonSet"
		switch {
		case m.ours.Has(p.pod.Spec.SchedulerName) && !mirror && !daemon:
			r.arrivals = append(r.arrivals, m.arrival(p))
		case foreign.Has(p.pod.Spec.NodeName) && p.first.Before(m.from.Add(listed)) && !finished(p.pod):
			q := p.pod.DeepCopy()
			q.UID, q.CreationTimestamp = "", metav1.Time{}
			r.Pods = append(r.Pods, q)
		}
	}
}

func controllerKind(p *corev1.Pod) string {
	if o := metav1.GetControllerOfNoCopy(p); o != nil {
		return o.Kind
	}
	return ""
}

// arrival is a pod as somebody made it.
func (m *memory) arrival(p *recordedPod) Arrival {
	q := p.pod.DeepCopy()
	q.UID, q.CreationTimestamp, q.DeletionTimestamp, q.Status = "", metav1.Time{}, nil, corev1.PodStatus{QOSClass: q.Status.QOSClass}
	q.Spec.NodeName, q.Spec.SchedulerName = "", Scheduler
	a := Arrival{At: p.first.Sub(m.from), Pod: q}
	kind := controllerKind(p.pod)
	lasting := kind == "ReplicaSet" || kind == "StatefulSet"
	switch {
	case !p.finished.IsZero() && !p.bound.IsZero():
		a.Runs = ran(p.bound, p.finished)
	case !p.ended.IsZero() && !p.bound.IsZero() && !lasting:
		a.Runs = ran(p.bound, p.ended)
	case !p.ended.IsZero():
		a.Leaves = max(p.ended.Sub(m.from), a.At+time.Millisecond)
	}
	return a
}

// ran takes off what a kubelet needs to start a pod, which is added again.
func ran(bound, end time.Time) time.Duration {
	return max(end.Sub(bound)-DefaultDelays().PodStart, time.Millisecond)
}

// simulated are the Providers, with machines that boot as fast as the recorded ones did.
func (m *memory) simulated() []*v1alpha1.Provider {
	boots := map[string][]time.Duration{}
	for _, c := range m.claims {
		s := c.claim.Status
		if s.LaunchedAt != nil && s.RegisteredAt != nil {
			boots[c.claim.Spec.Provider] = append(boots[c.claim.Spec.Provider], s.RegisteredAt.Sub(s.LaunchedAt.Time))
		}
	}
	all := byName(m.providers)
	for _, p := range all {
		times := slices.Sorted(slices.Values(boots[p.Name]))
		if p.Spec.Type == v1alpha1.ProviderSim && p.Spec.Sim != nil || len(times) == 0 {
			continue
		}
		at := func(i int) *metav1.Duration {
			return &metav1.Duration{Duration: max(times[i], time.Millisecond).Round(time.Millisecond)}
		}
		p.Spec.Type, p.Spec.Sim = v1alpha1.ProviderSim, &v1alpha1.Sim{Boot: v1alpha1.BootTime{
			Min: at(0), Median: at(len(times) / 2), Max: at(len(times) - 1),
		}}
	}
	return all
}

func (m *memory) machines() []RecordedMachine {
	var all []RecordedMachine
	for _, c := range slices.SortedFunc(maps.Values(m.claims), func(a, b *recordedClaim) int {
		return cmp.Or(a.made.Compare(b.made), cmp.Compare(a.claim.Name, b.claim.Name))
	}) {
		one := RecordedMachine{Pool: c.claim.Spec.Pool, Shape: c.claim.Spec.Shape, Bought: c.made.Sub(m.from), Released: -1}
		if !c.released.IsZero() {
			one.Released = c.released.Sub(m.from)
		}
		all = append(all, one)
	}
	return all
}

// Bought is what a world bought, in order, for a comparison with those of a recording.
func (w *World) Bought() []RecordedMachine {
	var all []RecordedMachine
	for _, b := range w.meter.order {
		one := RecordedMachine{Pool: b.pool, Shape: b.shape, Bought: b.from.Sub(w.start), Released: -1}
		if !b.to.IsZero() {
			one.Released = b.to.Sub(w.start)
		}
		all = append(all, one)
	}
	return all
}
