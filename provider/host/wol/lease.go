package wol

import (
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Leases remembers since when the leases of nodes have not been renewed, by the clock of this process. What a lease says itself is the
// clock of its node, which is never compared with another one. A lease that is seen for the first time counts as just renewed.
type Leases struct {
	mu    sync.Mutex
	known map[string]renewal
}

// renewal is one version of a lease, and when it was first seen.
type renewal struct {
	uid     types.UID
	renewed time.Time
	seen    time.Time
}

// silent is for how long a lease has been as it is.
func (l *Leases) silent(lease *coordinationv1.Lease, now time.Time) time.Duration {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]renewal{}
	}
	r, known := l.known[lease.Name]
	if !known || r.uid != lease.UID || !r.renewed.Equal(lease.Spec.RenewTime.Time) {
		r = renewal{uid: lease.UID, renewed: lease.Spec.RenewTime.Time, seen: now}
		l.known[lease.Name] = r
	}
	return now.Sub(r.seen)
}
