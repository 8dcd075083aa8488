package control

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-sh/muster/capacity"
)

// Holds asks the API server about holds past their age. A hold is never dropped on a guess: the pod is bound, finished
// or gone, or the hold stays.
type Holds struct {
	Live *capacity.Live
	Kube Kube
	Log  *slog.Logger
	// Age past which a hold is asked about.
	Age time.Duration
}

// Tick asks about every old hold once.
func (h *Holds) Tick(ctx context.Context, now time.Time) {
	for _, hold := range h.Live.HoldsBefore(now.Add(-h.Age)) {
		pod, err := h.Kube.Pod(ctx, hold.Pod.Ref())
		switch {
		case apierrors.IsNotFound(err), err == nil && pod.UID != hold.Pod.UID:
			h.Live.ForgetPod(hold.Pod.UID)
		case err != nil:
			h.Log.Warn("cannot ask about a hold", "pod", hold.Pod.Key(), "node", hold.Node, "error", err)
		default:
			h.Live.Reread(pod, now)
		}
	}
}
