package control

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// Reasons of a pod's muster.sh/Capacity condition that are not a capacity.Code.
const (
	ReasonOrdered = "MachineOrdered" // False: a machine was ordered for the pod, or has room for it once it is up
	ReasonRoom    = "RoomAvailable"  // True: the pod fits now; setting this wakes the scheduler
	ReasonPlaced  = "Placed"         // True: the pod was bound
)

// Teller writes pods' muster.sh/Capacity conditions: the story for the pod's owner, and the wake-up for the scheduler,
// which tries a pod again when the pod itself changes. Each pod waits at most once in its queue, wake-ups go first, and
// only so many are written in one tick.
type Teller struct {
	Kube Kube
	Log  *slog.Logger
	// Burst is the most writes in one tick, Every the time between two ticks while some wait.
	Burst int
	Every time.Duration

	mu      sync.Mutex
	urgent  queue
	patient queue
	told    map[types.UID]string
	poke    chan struct{}
}

// word is one thing to say about one pod.
type word struct {
	pod    *capacity.Pod
	status corev1.ConditionStatus
	reason string
	text   string
	// node is to be named to the scheduler for the pod, if that is still wanted; nothing else is written then.
	node  string
	still func() bool
}

// queue keeps the order of arrival and the newest word for each pod.
type queue struct {
	order []types.UID
	words map[types.UID]word
}

func (q *queue) put(w word) {
	if q.words == nil {
		q.words = map[types.UID]word{}
	}
	if _, waits := q.words[w.pod.UID]; !waits {
		q.order = append(q.order, w.pod.UID)
	}
	q.words[w.pod.UID] = w
}

func (q *queue) take() (word, bool) {
	for len(q.order) > 0 {
		uid := q.order[0]
		q.order = q.order[1:]
		if w, ok := q.words[uid]; ok {
			delete(q.words, uid)
			return w, true
		}
	}
	return word{}, false
}

// Waiting is poked when something is to be said.
func (t *Teller) Waiting() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pokes()
}

func (t *Teller) pokes() chan struct{} {
	if t.poke == nil {
		t.poke = make(chan struct{}, 1)
	}
	return t.poke
}

// Nudge wakes the scheduler for a pod that fits now. It is written every time it is asked for.
func (t *Teller) Nudge(p *capacity.Pod, text string) {
	t.put(&t.urgent, word{pod: p, status: corev1.ConditionTrue, reason: ReasonRoom, text: text})
}

// Nominate names the node to the scheduler for a pod that fits there now, which wakes it, unless that is not wanted any
// more when its turn comes.
func (t *Teller) Nominate(p *capacity.Pod, node string, still func() bool) {
	t.put(&t.urgent, word{pod: p, reason: ReasonRoom, text: node, node: node, still: still})
}

// Say tells a pod's owner something, unless the pod says so already or it was just told.
func (t *Teller) Say(p *capacity.Pod, status corev1.ConditionStatus, reason, text string) {
	if c := p.Capacity; c != nil && c.Status == status && c.Reason == reason && c.Message == text {
		return
	}
	if t.alreadyTold(p.UID, reason+text) {
		return
	}
	t.put(&t.patient, word{pod: p, status: status, reason: reason, text: text})
}

func (t *Teller) alreadyTold(uid types.UID, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told[uid] == text
}

func (t *Teller) put(q *queue, w word) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q.put(w)
	if t.told == nil {
		t.told = map[types.UID]string{}
	}
	t.told[w.pod.UID] = w.reason + w.text
	select {
	case t.pokes() <- struct{}{}:
	default:
	}
}

// Keep forgets what was told of all pods but these.
func (t *Teller) Keep(wanted func(types.UID) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid := range t.told {
		if !wanted(uid) {
			delete(t.told, uid)
		}
	}
}

// Tick writes what waits, wake-ups first, and says when to come back; 0 when nothing is left.
func (t *Teller) Tick(ctx context.Context, now time.Time) time.Duration {
	for range t.Burst {
		w, ok := t.next()
		if !ok || ctx.Err() != nil {
			return 0
		}
		t.write(ctx, w, now)
	}
	return t.Every
}

func (t *Teller) next() (word, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w, ok := t.urgent.take(); ok {
		return w, true
	}
	return t.patient.take()
}

func (t *Teller) write(ctx context.Context, w word, now time.Time) {
	if w.node != "" {
		t.name(ctx, w)
		return
	}
	at := metav1.NewTime(now)
	c := corev1.PodCondition{Type: v1alpha1.CapacityCondition, Status: w.status, Reason: w.reason, Message: w.text,
		LastProbeTime: at, LastTransitionTime: at}
	if old := w.pod.Capacity; old != nil && old.Status == w.status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	if err := t.Kube.SetPodCondition(ctx, w.pod.Ref(), c); err != nil {
		if !Conflict(err) {
			t.Log.Warn("cannot tell the pod", "pod", w.pod.Key(), "reason", w.reason, "error", err)
		}
		t.mu.Lock()
		delete(t.told, w.pod.UID)
		t.mu.Unlock()
		return
	}
	if w.reason != ReasonRoom && w.reason != ReasonPlaced {
		t.Kube.Event(Subject{Kind: "Pod", PodReference: w.pod.Ref()}, w.reason != ReasonOrdered && w.reason != ReasonPreempting, w.reason, w.text)
	}
	t.Log.Debug("told pod", "pod", w.pod.Key(), "reason", w.reason, "message", w.text)
}

func (t *Teller) name(ctx context.Context, w word) {
	if !w.still() {
		return
	}
	if err := t.Kube.Nominate(ctx, w.pod.Ref(), w.node); err != nil && !Conflict(err) {
		t.Log.Warn("cannot nominate the node", "pod", w.pod.Key(), "node", w.node, "error", err)
		return
	}
	t.Log.Debug("nominated", "pod", w.pod.Key(), "node", w.node)
}
