package sim

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Nodes is where booted machines register.
type Nodes interface {
	// CreateNode creates the Node with its status. A Node of this name with the same provider ID that is there already
	// is no error.
	CreateNode(ctx context.Context, node *corev1.Node) error
}

// rejoin is how long a machine waits after its Node could not be made.
const rejoin = time.Second

// Joiner makes the Node of every machine that finished booting, and tries again until it worked or the machine is gone.
type Joiner struct {
	Cloud *Cloud
	Nodes Nodes
	Now   func() time.Time
	Log   *slog.Logger
}

// Run returns when ctx is done.
func (j *Joiner) Run(ctx context.Context) {
	waiting := map[string]Machine{} // by node name
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.Cloud.Changed():
		case <-timer.C:
		}
		for _, e := range j.Cloud.Advance(j.Now()) {
			switch e.Kind {
			case Joined, Returned:
				waiting[e.Machine.NodeName] = e.Machine
			case Gone:
				delete(waiting, e.Machine.NodeName)
			}
		}
		j.join(ctx, waiting)
		timer.Reset(j.pause(len(waiting) > 0))
	}
}

// join makes the Nodes that are still to be made, and keeps those that could not be.
func (j *Joiner) join(ctx context.Context, waiting map[string]Machine) {
	for name, m := range waiting {
		if err := j.Nodes.CreateNode(ctx, NodeOf(m)); err != nil {
			j.Log.Warn("a machine could not register its node", "node", name, "error", err)
			continue
		}
		j.Log.Info("a machine registered its node", "node", name, "claim", m.Claim, "attempt", m.Attempt)
		delete(waiting, name)
	}
}

// pause is how long nothing happens by itself.
func (j *Joiner) pause(waiting bool) time.Duration {
	at, ok := j.Cloud.NextEvent()
	switch {
	case waiting && (!ok || at.After(j.Now().Add(rejoin))):
		return rejoin
	case !ok:
		return time.Hour
	}
	return max(at.Sub(j.Now()), 0)
}
