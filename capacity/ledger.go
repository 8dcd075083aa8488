package capacity

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Shortfall is one pod that lacks room. It is counted once per pod UID, however often it was seen, and is withdrawn when
// the pod is held, bound, changed, finished or gone.
type Shortfall struct {
	Pod *Pod
	// Since is when the pod was first seen without room.
	Since time.Time
	// Planned is set once a plan has counted the pod.
	Planned bool
	// Late is set while the last plan did not get to the pod.
	Late bool
	// Vain is set while the last plan that looked for room for the pod had nothing for it.
	Vain bool
	// Called is when the extender was last asked about it; zero when it was never.
	Called time.Time
	// Reason is what stood in the way on most nodes when the extender was last asked.
	Reason Reason

	// Refused are nodes that kube-scheduler's own filters refused in the last full call.
	Refused sets.Set[string]
	// RefusedUntil: the scheduler was woken for this pod, and asked about no node that was there at this time.
	RefusedUntil time.Time
	// Contradicted is since when the extender is asked about the pod after wake-ups for room that a plan sees, and has no node
	// for it; zero while plans see none, too.
	Contradicted time.Time
	// Nudges counts the wake-ups since the extender was last asked; FirstNudged and Nudged are the first and the last.
	Nudges              int
	FirstNudged, Nudged time.Time

	lived time.Duration // how long the scheduler had been seen at work at FirstNudged
	moves uint64        // of other pods, up to Called
}

// NotePlanned notes what a plan said of the pod. As long as plans do not get to it, what an earlier one found out holds.
func (s *Shortfall) NotePlanned(o Outcome) {
	s.Late = o.Reason.Code == CodeNotReached
	s.Vain = o.Sought || s.Late && s.Vain || !s.Late && o.Fate == Unserved
	s.Planned = !s.Late
	if o.Fate != FitsNow {
		s.Contradicted = time.Time{}
	}
}

// snapshotLag is how much later than Muster the scheduler may come to know a node: it asks with a snapshot of its own
// cache, which follows its own watch.
const snapshotLag = 5 * time.Second

// RefusesNode says whether the scheduler's own filters are known to refuse a node, first seen at since, for this pod. A
// node that was new when the extender was asked may only have been unknown to the scheduler.
func (s *Shortfall) RefusesNode(name string, since time.Time) bool {
	return s.Refused.Has(name) && s.Called.Sub(since) >= snapshotLag || !since.After(s.RefusedUntil)
}

// MaxShortfalls is how many pods without room are planned for at a time. Those beyond wait in the order in which they
// came, until others have their node.
const MaxShortfalls = 100_000

// ledger holds the shortfalls. Live's lock guards it.
type ledger struct {
	most   int
	byPod  map[types.UID]*Shortfall
	beyond map[types.UID]time.Time // pods that there was no place for, and since when
	queue  []types.UID             // the same in their order; some may be gone from beyond
	told   []types.UID             // of them those that nobody was told about yet
}

func newLedger() ledger {
	return ledger{most: MaxShortfalls, byPod: map[types.UID]*Shortfall{}, beyond: map[types.UID]time.Time{}}
}

// full leaves a pod out while the ledger is full, and says whether it did.
func (l *ledger) full(uid types.UID, now time.Time) bool {
	if len(l.byPod) < l.most {
		delete(l.beyond, uid)
		return false
	}
	if _, known := l.beyond[uid]; !known {
		l.beyond[uid] = now
		l.queue, l.told = append(l.queue, uid), append(l.told, uid)
	}
	if len(l.queue) > 2*len(l.beyond)+100 {
		l.queue = slices.DeleteFunc(l.queue, func(uid types.UID) bool { _, waits := l.beyond[uid]; return !waits })
	}
	return true
}

// next is a pod that was left out and that there is a place for now, empty when there is none.
func (l *ledger) next() (types.UID, time.Time) {
	for len(l.byPod) < l.most && len(l.queue) > 0 {
		uid := l.queue[0]
		l.queue = l.queue[1:]
		if since, waits := l.beyond[uid]; waits {
			delete(l.beyond, uid)
			return uid, since
		}
	}
	return "", time.Time{}
}

// called records a full filter call that found no room, and says whether a plan would care.
func (l *ledger) called(p *Pod, refused sets.Set[string], why Reason, now time.Time) (news bool) {
	s, known := l.byPod[p.UID]
	if !known && l.full(p.UID, now) {
		return false
	}
	if !known {
		s = &Shortfall{Pod: p, Since: now}
		l.byPod[p.UID] = s
	}
	news = !known || !s.Refused.Equal(refused)
	s.Pod, s.Called, s.Reason, s.Refused = p, now, why, refused
	if s.Nudges > 0 && s.Contradicted.IsZero() {
		s.Contradicted = now
	}
	s.RefusedUntil, s.Nudges = time.Time{}, 0
	return news
}

// watched records a pod that the scheduler says is unschedulable.
func (l *ledger) watched(p *Pod, now time.Time) (fresh bool) {
	if s, known := l.byPod[p.UID]; known {
		s.Pod = p
		return false
	}
	if l.full(p.UID, now) {
		return false
	}
	l.byPod[p.UID] = &Shortfall{Pod: p, Since: now}
	return true
}

func (l *ledger) withdraw(uid types.UID) {
	delete(l.byPod, uid)
	delete(l.beyond, uid)
}

// A pod that is woken for room, and that the scheduler does not ask about, is taken for refused by the scheduler's own
// filters. But a scheduler may be slow to ask: a pod whose last attempt ended in an error sits out its back-off (2 s at
// most with the shipped configuration, and its queue is flushed once a second), and a long queue or a slow client comes
// before it. So the pod must have been woken for a while, and the scheduler must have been idle; or it was long enough
// for any queue. While the scheduler shows no sign of life, that time does not pass.
const (
	ignoredFor  = 10 * time.Second
	idleFor     = time.Second
	ignoredLong = time.Minute
)

// nudged records a wake-up. When the scheduler last asked about any pod is heard.
func (l *ledger) nudged(uid types.UID, heard time.Time, p *pulse, now time.Time) {
	s, known := l.byPod[uid]
	if !known {
		return
	}
	woken := now.Sub(s.FirstNudged)
	if p.followed {
		woken = p.lived - s.lived
	}
	if s.Nudges > 0 && ignored(woken, now.Sub(heard)) {
		s.RefusedUntil, s.Nudges = s.FirstNudged, 0
	}
	if s.Nudges == 0 {
		s.FirstNudged, s.lived = now, p.lived
	}
	s.Nudges++
	s.Nudged = now
}

func ignored(woken, idle time.Duration) bool {
	return woken >= ignoredLong || woken >= ignoredFor && idle >= idleFor
}
