package control

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/housekeeping"
)

// Providers asks every backend for its machines, and says in the Provider's status whether it answers.
type Providers struct {
	Live     *capacity.Live
	Kube     Kube
	Backends Backends
	Log      *slog.Logger
	// Machines is told the number of machines and of those without a claim after each complete listing.
	Machines func(provider string, all, orphans int)
	// Keeper deals with machines and Nodes without a claim.
	Keeper *Keeper
}

// Tick looks at every provider once.
func (p *Providers) Tick(ctx context.Context, now time.Time) {
	for _, pr := range p.Live.Providers() {
		if ctx.Err() != nil {
			return
		}
		p.look(ctx, pr, now)
	}
	p.Keeper.strays(ctx, now)
	p.Keeper.repair(ctx, now)
}

func (p *Providers) look(ctx context.Context, pr *v1alpha1.Provider, now time.Time) {
	next := pr.DeepCopy()
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Listed",
		ObservedGeneration: pr.Generation, LastTransitionTime: metav1.NewTime(now)}
	if err := p.list(ctx, next, now); err != nil {
		if ctx.Err() != nil {
			return
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "ListFailed", err.Error()
	}
	changed := meta.SetStatusCondition(&next.Status.Conditions, ready)
	if !changed && next.Status.Machines == pr.Status.Machines {
		return
	}
	if err := p.Kube.UpdateProviderStatus(ctx, next); err != nil && !Conflict(err) {
		p.Log.Warn("cannot write the provider's status", "provider", pr.Name, "error", err)
	}
	if changed && ready.Status == metav1.ConditionFalse {
		p.Log.Warn("provider does not answer", "provider", pr.Name, "error", ready.Message)
	}
}

// list counts the machines. Claims are read after the listing: a machine is made after its claim, so one without a claim
// now has none.
func (p *Providers) list(ctx context.Context, pr *v1alpha1.Provider, now time.Time) error {
	backend, err := p.Backends.Backend(pr.Name)
	if err != nil {
		return err
	}
	machines, err := backend.List(ctx)
	if err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	claims, _ := p.Live.Claims()
	listing := housekeeping.Listing{Machines: machines, Claims: claims, Began: now}
	pr.Status.Machines = int32(min(len(machines), 1<<31-1)) //nolint:gosec // bounded in the same line
	p.Machines(pr.Name, len(machines), p.Keeper.orphans(ctx, pr, backend, listing))
	return nil
}
