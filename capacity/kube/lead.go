package kube

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Lead says whether this process may act. A lease is no fence: what must never happen twice is refused by the API server
// itself (claim names, resource versions) and by the providers (claim UIDs).
type Lead struct {
	// Renewed, if set, is called whenever the scheduler that FollowScheduler follows is seen to have renewed its lease.
	Renewed func(time.Time)
	// Now is the clock by which the lease is judged; nil is time.Now.
	Now func() time.Time

	mu    sync.Mutex
	since time.Time // when the lead was taken; zero while it is not ours
	// heard is when the lease was last seen renewed, by this machine's monotonic clock; valid is for how long that counts.
	heard time.Time
	valid time.Duration
	// check, when set, says that the lease ran out although nobody took it yet.
	check func() error
}

// Since says when the lead was taken; ok is false while it is not ours or its last renewal is too old to be sure of.
// A process that was stopped and goes on knows so at once.
func (l *Lead) Since(now time.Time) (since time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stale := l.valid > 0 && now.Sub(l.heard) > l.valid || l.check != nil && l.check() != nil
	if l.since.IsZero() || stale {
		return time.Time{}, false
	}
	return l.since, true
}

func (l *Lead) now() time.Time {
	if l.Now == nil {
		return time.Now()
	}
	return l.Now()
}

func (l *Lead) set(leading bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !leading:
		l.since = time.Time{}
	case l.since.IsZero():
		l.since = now
	}
}

// FollowScheduler leads where the scheduler of this pod holds its lease (holderIdentity is <hostname>_<uuid>), so that
// the filter's holds and shortfalls and the loops that act on them are in one process. lead runs while that holds.
func (l *Lead) FollowScheduler(ctx context.Context, cs kubernetes.Interface, lease types.NamespacedName, hostname string,
	log *slog.Logger, lead func(context.Context),
) error {
	var work term
	defer work.end()
	seen := renewal{}
	ticker := time.NewTicker(pollLease)
	defer ticker.Stop()
	for {
		l.look(ctx, cs, lease, hostname, &seen, log)
		_, leading := l.Since(l.now())
		switch {
		case leading && !work.begun():
			log.Info("leading", "lease", lease.String())
			work.begin(ctx, lead)
		case !leading && work.begun():
			log.Warn("no longer leading", "lease", lease.String())
			work.end()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// term is one time of leading.
type term struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func (t *term) begun() bool { return t.cancel != nil }

func (t *term) begin(ctx context.Context, lead func(context.Context)) {
	run, cancel := context.WithCancel(ctx)
	t.cancel, t.done = cancel, make(chan struct{})
	go func() {
		defer close(t.done)
		lead(run)
	}()
}

// end returns when nothing of the term is under way any more.
func (t *term) end() {
	if t.begun() {
		t.cancel()
		<-t.done
		t.cancel = nil
	}
}

const (
	pollLease      = time.Second
	askLeaseWithin = 5 * time.Second
)

// renewal is the lease's last change as seen from here; clocks of two machines are never compared.
type renewal struct {
	version string
	at      time.Time
}

func (l *Lead) look(ctx context.Context, cs kubernetes.Interface, name types.NamespacedName, hostname string,
	seen *renewal, log *slog.Logger,
) {
	ask, cancel := context.WithTimeout(ctx, askLeaseWithin)
	defer cancel()
	asked := l.now()
	lease, err := cs.CoordinationV1().Leases(name.Namespace).Get(ask, name.Name, metav1.GetOptions{})
	if err != nil {
		if ctx.Err() == nil {
			log.Warn("cannot read the scheduler's lease", "lease", name.String(), "error", err)
		}
		return // what was heard last goes stale by itself
	}
	if lease.ResourceVersion != seen.version {
		seen.version, seen.at = lease.ResourceVersion, asked
		if l.Renewed != nil && holds(lease, hostname) {
			l.Renewed(asked)
		}
	}
	l.mu.Lock()
	l.heard, l.valid = seen.at, leaseDuration(lease)
	l.mu.Unlock()
	l.set(holds(lease, hostname), asked)
}

func holds(lease *coordinationv1.Lease, hostname string) bool {
	holder := lease.Spec.HolderIdentity
	return holder != nil && strings.HasPrefix(*holder, hostname+"_")
}

func leaseDuration(lease *coordinationv1.Lease) time.Duration {
	if s := lease.Spec.LeaseDurationSeconds; s != nil && *s > 0 {
		return time.Duration(*s) * time.Second
	}
	return 15 * time.Second
}

// Elect leads by a lease of Muster's own until ctx ends. lead runs while the lease is held.
func (l *Lead) Elect(ctx context.Context, cs kubernetes.Interface, lease types.NamespacedName, identity string,
	lead func(context.Context),
) error {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: lease.Namespace, Name: lease.Name},
		Client:     cs.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	var term sync.Mutex // held while lead runs, so that two terms never overlap
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Name: lease.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(run context.Context) {
				term.Lock()
				defer term.Unlock()
				l.set(true, l.now())
				lead(run)
			},
			OnStoppedLeading: func() { l.set(false, l.now()) },
		},
	})
	if err != nil {
		return fmt.Errorf("elect a leader: %w", err)
	}
	l.mu.Lock()
	l.check = func() error { return elector.Check(0) }
	l.mu.Unlock()
	for ctx.Err() == nil {
		elector.Run(ctx)
	}
	term.Lock()
	defer term.Unlock()
	return nil
}
