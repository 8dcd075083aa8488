package capacity

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// SetPod takes in a pod: bound ones count against their node, nominated ones hold room, unschedulable ones of our
// schedulers are shortfalls. A pod that only changed its conditions wakes nobody. An older version than the one known
// changes nothing: a pod that was asked about is taken in at once, and the watch may still deliver what was before.
func (l *Live) SetPod(pod *corev1.Pod, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takePod(newPod(pod, l.ask(pod, l.pods[pod.UID])), now)
}

// Reread is SetPod for a pod that was read past the watch. The watch may have told of its end while the answer was on its
// way, and will not tell of it again: such a pod stays gone.
func (l *Live) Reread(pod *corev1.Pod, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gone.Contains(pod.UID) {
		l.takePod(newPod(pod, l.ask(pod, l.pods[pod.UID])), now)
	}
}

// Compile reads a pod into what the core keeps of it, for TakePod and Place. What pods with one signature share they share
// here.
func (l *Live) Compile(pod *corev1.Pod) *Pod { return newPod(pod, l.ask(pod, l.Pod(pod.UID))) }

// TakePod is SetPod for a pod that was compiled before, so that a list of many pods is kept as what the core keeps.
func (l *Live) TakePod(p *Pod, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takePod(p, now)
}

// countGrace counts the grace period of a pod in deletion from when this process first saw it so: the time that the API server noted is
// another computer's.
func (p *Pod) countGrace(old *Pod, now time.Time) {
	switch {
	case !p.Terminating || p.grace == nil:
	case old != nil && old.Terminating && old.grace != nil && *old.grace == *p.grace:
		p.Ends = old.Ends
	default:
		p.Ends = now.Add(time.Duration(*p.grace) * time.Second)
	}
}

func (l *Live) takePod(fresh *Pod, now time.Time) {
	old := l.pods[fresh.UID]
	if old != nil && olderPod(fresh, old) {
		return
	}
	fresh.countGrace(old, now)
	l.countWary(old, -1)
	l.countWary(fresh, 1)
	l.pods[fresh.UID] = fresh
	if fresh.Nominated != "" {
		l.nominated[fresh.UID] = true
	}
	l.followUnheard(old, fresh, now)
	l.gone.Remove(fresh.UID)
	l.countPod(old, fresh)
	if fresh.Node != "" && (old == nil || old.Node == "") {
		l.noteTaken(fresh)
	}
	l.followHold(old, fresh, now)
	l.settleReservation(fresh.UID, nil)
	l.followPlaced(fresh)
	if l.followShortfall(fresh, now) || old == nil || !sameForPlacing(old, fresh) {
		l.changed()
	}
}

func olderPod(p, than *Pod) bool {
	order, err := resourceversion.CompareResourceVersion(p.version, than.version)
	return err == nil && order < 0
}

// ask reuses what was compiled for the pod's last version while its spec did not change.
func (l *Live) ask(pod *corev1.Pod, old *Pod) *Ask {
	if old != nil && pod.Generation != 0 && old.Generation == pod.Generation {
		return old.Ask
	}
	return l.asks.Ask(pod)
}

// sameForPlacing says whether nothing changed that an answer or a plan depends on.
func sameForPlacing(a, b *Pod) bool {
	return a.Node == b.Node && a.Nominated == b.Nominated && a.Finished == b.Finished && a.Gated == b.Gated &&
		a.Terminating == b.Terminating && a.Owner == b.Owner && a.Resident() == b.Resident() &&
		a.Priority == b.Priority && a.Labels == b.Labels && a.Ask.Signature == b.Ask.Signature && a.Usage.Equal(b.Usage)
}

func (l *Live) followPlaced(p *Pod) {
	delete(l.placed, p.UID)
	if p.counts() && p.Capacity != nil && p.Capacity.Status == corev1.ConditionFalse {
		l.placed[p.UID] = p
	}
}

// ForgetPod drops a pod that is gone.
func (l *Live) ForgetPod(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.pods[uid]
	l.countWary(old, -1)
	delete(l.pods, uid)
	delete(l.placed, uid)
	delete(l.nominated, uid)
	delete(l.unheard, uid)
	delete(l.naming, uid)
	l.gone.Add(uid, true)
	l.calls.forget(uid)
	l.release(uid)
	l.ledger.withdraw(uid)
	l.uncount(old)
	l.settleReservation(uid, nil)
	l.changed()
}

// counts says whether a pod takes room: bound and not finished; a terminating pod counts until it is gone.
func (p *Pod) counts() bool { return p != nil && p.Node != "" && !p.Finished }

// countPod counts the fresh version of a pod against its node in the place of the old one.
func (l *Live) countPod(old, fresh *Pod) {
	if old.counts() && fresh.counts() && sameForPlacing(old, fresh) {
		e := l.nodes[fresh.Node]
		e.pods[fresh.UID], e.listed = fresh, nil
		return
	}
	l.uncount(old)
	if !fresh.counts() {
		return
	}
	l.moves++
	e := l.entry(fresh.Node)
	e.pods[fresh.UID], e.listed = fresh, nil
	e.Used.Add(fresh.Usage)
	if !fresh.Resident() {
		e.guests++
	}
	l.thaw(e)
	l.own(e, fresh)
	l.settleReservation("", e)
}

func (l *Live) uncount(p *Pod) {
	if !p.counts() {
		return
	}
	l.moves++
	e := l.nodes[p.Node]
	delete(e.pods, p.UID)
	e.listed = nil
	e.Used.Sub(p.Usage)
	if !p.Resident() {
		e.guests--
	}
	l.thaw(e)
	l.disown(e, p)
	l.settleReservation("", e)
	l.dropIfEmpty(e)
}

// followHold ends a hold whose pod is seen bound or finished, and takes one where the pod is nominated: the scheduler
// writes status.nominatedNodeName before PreBind, so it outlives a restart. A nomination that a newer call has replaced
// is not taken up again.
func (l *Live) followHold(old, p *Pod, now time.Time) {
	h := l.holds[p.UID]
	if (h == nil || h.nominated) && l.schedulers.Place.Has(p.Scheduler) && sentSince(old, p) &&
		(p.Node != "" || l.naming[p.UID] != p.Nominated) {
		l.strangers = now
	}
	switch {
	case p.Node != "" || p.Finished:
		l.release(p.UID)
	case h != nil && h.nominated && h.node != p.Nominated:
		l.release(p.UID)
		if p.Nominated != "" {
			l.hold(&hold{pod: p, node: p.Nominated, nominated: true, since: now})
		}
	case h == nil && p.Nominated != "" && (old == nil || old.Nominated != p.Nominated):
		l.hold(&hold{pod: p, node: p.Nominated, nominated: true, since: now})
	}
}

// sentSince says whether a pod was bound, or is about to be, since its last version.
func sentSince(old, p *Pod) bool {
	return old != nil && old.Node == "" && (p.Node != "" || p.Nominated != "" && p.Nominated != old.Nominated)
}

// followShortfall keeps the ledger in step with a pod, and says whether a shortfall is new.
func (l *Live) followShortfall(p *Pod, now time.Time) bool {
	if !p.Pending() || !l.schedulers.Ours(p.Scheduler) {
		l.ledger.withdraw(p.UID)
		return false
	}
	if s := l.ledger.byPod[p.UID]; s != nil && s.Pod.Ask.Signature != p.Ask.Signature {
		l.ledger.withdraw(p.UID)
	}
	if p.Unschedulable && l.holds[p.UID] == nil {
		return l.ledger.watched(p, now)
	}
	if s := l.ledger.byPod[p.UID]; s != nil {
		s.Pod = p
	}
	return false
}

// StrangerBound is when a pod of a place scheduler was last seen bound, or nominated, without a hold of ours: the sign
// that answers of another Muster, or of this one before it was restarted, are still on their way.
func (l *Live) StrangerBound() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers
}

// Nudged notes that a shortfall's pod was woken.
func (l *Live) Nudged(uid types.UID, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ledger.nudged(uid, l.heard, &l.pulse, now)
}

// Want counts a pending pod as a shortfall although nobody asked for a node for it yet: for plans of a cluster that is
// not being watched. It says whether the pod is one.
func (l *Live) Want(uid types.UID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pods[uid]
	if p == nil || !p.Pending() || l.holds[uid] != nil {
		return false
	}
	l.ledger.watched(p, now)
	l.changed()
	return true
}
