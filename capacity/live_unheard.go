package capacity

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// unheardFor is how long a pod is waited for that no scheduler has said anything of: longer than one sits out its back-off
// and its queue. Of whom nothing is heard for longer, nothing will be.
const unheardFor = 30 * time.Second

// followUnheard notes a pending pod when it is first seen.
func (l *Live) followUnheard(old, fresh *Pod, now time.Time) {
	switch {
	case !fresh.Pending():
		delete(l.unheard, fresh.UID)
	case (old == nil || !old.Pending()) && l.schedulers.Ours(fresh.Scheduler):
		l.unheard[fresh.UID] = now
	}
}

// Unheard says whether a pod of ours came, or was there when the watches began, a moment ago, and neither was given room nor
// is known to lack any. A node that is about to go may be the one that it fits.
func (l *Live) Unheard(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := false
	for uid, since := range l.unheard {
		if now.Sub(since) >= unheardFor || l.holds[uid] != nil || l.ledger.knows(uid) {
			delete(l.unheard, uid)
			continue
		}
		found = true
	}
	return found
}

// knows says whether a pod is known to lack room.
func (l *ledger) knows(uid types.UID) bool {
	_, beyond := l.beyond[uid]
	return beyond || l.byPod[uid] != nil
}
