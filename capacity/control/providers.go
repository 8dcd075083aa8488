package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/capacity/housekeeping"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
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

	buying *sync.Mutex // held while a finalizer comes off: no claim is created meanwhile
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
	machines, err := p.list(ctx, next, now)
	if err != nil {
		if ctx.Err() != nil {
			return
		}
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "ListFailed", err.Error()
	}
	p.plain(ctx, pr)
	if settled, err := p.settle(ctx, pr, machines, err == nil); err != nil {
		if !Conflict(err) {
			p.Log.Warn("cannot settle the finalizer of a provider", "provider", pr.Name, "error", err)
		}
	} else if settled.ResourceVersion != pr.ResourceVersion {
		machines := next.Status.Machines
		pr, next = settled, settled.DeepCopy()
		next.Status.Machines = machines
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
func (p *Providers) list(ctx context.Context, pr *v1alpha1.Provider, now time.Time) ([]provider.Machine, error) {
	backend, err := p.Backends.Backend(pr.Name)
	if err != nil {
		return nil, err
	}
	machines, err := backend.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	claims, _ := p.Live.Claims()
	listing := housekeeping.Listing{Machines: machines, Claims: claims, Kept: pr.Status.Keeps, Began: now}
	pr.Status.Machines = int32(min(len(machines), 1<<31-1)) //nolint:gosec // bounded in the same line
	p.Machines(pr.Name, len(machines), p.Keeper.orphans(ctx, pr, backend, listing))
	return machines, nil
}

// settle puts Muster's finalizer on a Provider that claims name or that has machines of this cluster, and takes it off when neither is
// so by a complete listing. Machines that are stopped for the next claim, and those that were handed over to the user, need no
// Provider. It returns the Provider as it is now.
func (p *Providers) settle(ctx context.Context, pr *v1alpha1.Provider, machines []provider.Machine, complete bool) (*v1alpha1.Provider, error) {
	own := p.Keeper.Cluster
	needed := slices.ContainsFunc(machines, func(m provider.Machine) bool {
		return m.Cluster == own && m.State != provider.StateKept && !pr.Status.Keeps(m.ClaimUID)
	})
	claims, _ := p.Live.Claims()
	needed = needed || slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.Spec.Provider == pr.Name })
	held := slices.Contains(pr.Finalizers, v1alpha1.ProviderFinalizer)
	switch {
	case needed && !held && pr.DeletionTimestamp == nil:
		if err := holdProvider(ctx, p.Live, p.Kube, pr); err != nil {
			return pr, err
		}
	case !needed && held && complete && own != "":
		defer lock(p.buying)()
		if pr = p.Live.Provider(pr.Name); pr == nil {
			return &v1alpha1.Provider{}, nil
		}
		if err := letProviderGo(ctx, p.Live, p.Kube, pr); err != nil {
			return pr, err
		}
	default:
		return pr, nil
	}
	if now := p.Live.Provider(pr.Name); now != nil {
		return now, nil
	}
	return pr, nil
}

// plain takes the marks of a claim that is gone off the Nodes of machines that were handed over, so that no other claim, and nobody
// that looks for Nodes of Muster's, takes them for its own. The label of the pool stays: pods may select it.
func (p *Providers) plain(ctx context.Context, pr *v1alpha1.Provider) {
	claims, _ := p.Live.Claims()
	for _, m := range pr.Status.KeptMachines {
		if slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.UID == m.ClaimUID }) {
			continue
		}
		for _, n := range p.Keeper.Nodes.Candidates(m.Node, "", "") {
			if n.Name != m.Node || housekeeping.ClaimOf(n) != m.ClaimUID {
				continue
			}
			if err := ignoreStale(p.Kube.UpdateNode(ctx, n, lifecycle.PlainNode(n))); err != nil {
				p.Log.Warn("cannot take the marks off a node that is kept", "node", n.Name, "error", err)
			}
		}
	}
}
