package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/replay/recording"
)

// memory is what a recording came to so far.
type memory struct {
	lenient bool
	skipped int // objects that could not be read

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
	err := m.seeObject(e)
	if err != nil && m.lenient {
		m.skipped++
		return nil
	}
	return err
}

func (m *memory) seeObject(e recording.Entry) error {
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
	err := json.Unmarshal(e.Object.Body, o)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%s: %s: a %s: use a value of type %s", e.Object.Kind, wrong.Field, wrong.Value, wrong.Type)
	case err != nil:
		return fmt.Errorf("%s: %w: use an object as muster serve --record writes it", e.Object.Kind, err)
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
