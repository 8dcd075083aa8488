package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
)

// A NodePool and a Provider carry Muster's finalizer before the first NodeClaim that names them exists, so that neither can vanish
// while a machine needs it. The finalizer comes off when nothing needs the object any more, under the lock that every claim is created
// under, and only when the API server itself has no such claim.

// hold puts the finalizers on a pool and its Provider. A claim may be created when it returns nil.
func hold(ctx context.Context, live *capacity.Live, kube Kube, pool, provider string) error {
	p, pr := live.Pool(pool), live.Provider(provider)
	switch {
	case p == nil:
		return fmt.Errorf("NodePool %s does not exist", pool)
	case pr == nil:
		return fmt.Errorf("there is no Provider %s", provider)
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("NodePool %s is being deleted", pool)
	case pr.DeletionTimestamp != nil:
		return fmt.Errorf("its Provider %s is being deleted", provider)
	}
	if err := holdProvider(ctx, live, kube, pr); err != nil {
		return err
	}
	return holdPool(ctx, live, kube, p)
}

func holdPool(ctx context.Context, live *capacity.Live, kube Kube, p *v1alpha1.NodePool) error {
	if slices.Contains(p.Finalizers, v1alpha1.PoolFinalizer) {
		return nil
	}
	written, err := kube.SetPoolFinalizers(ctx, p, append(slices.Clone(p.Finalizers), v1alpha1.PoolFinalizer))
	if err != nil {
		return fmt.Errorf("put the finalizer on NodePool %s: %w", p.Name, err)
	}
	live.SetPool(written)
	return nil
}

func holdProvider(ctx context.Context, live *capacity.Live, kube Kube, p *v1alpha1.Provider) error {
	if slices.Contains(p.Finalizers, v1alpha1.ProviderFinalizer) {
		return nil
	}
	written, err := kube.SetProviderFinalizers(ctx, p, append(slices.Clone(p.Finalizers), v1alpha1.ProviderFinalizer))
	if err != nil {
		return fmt.Errorf("put the finalizer on Provider %s: %w", p.Name, err)
	}
	live.SetProvider(written)
	return nil
}

// letPoolGo takes the finalizer off a pool without claims.
func letPoolGo(ctx context.Context, live *capacity.Live, kube Kube, p *v1alpha1.NodePool) error {
	claims, err := kube.Claims(ctx)
	if err != nil {
		return fmt.Errorf("read the claims of NodePool %s: %w", p.Name, err)
	}
	if slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.Spec.Pool == p.Name }) {
		return nil
	}
	written, err := kube.SetPoolFinalizers(ctx, p, without(p.Finalizers, v1alpha1.PoolFinalizer))
	if err != nil {
		return fmt.Errorf("take the finalizer off NodePool %s: %w", p.Name, err)
	}
	if written.DeletionTimestamp == nil { // else it is gone, as the watch will tell
		live.SetPool(written)
	}
	return nil
}

// letProviderGo takes the finalizer off a Provider that no claim names.
func letProviderGo(ctx context.Context, live *capacity.Live, kube Kube, p *v1alpha1.Provider) error {
	claims, err := kube.Claims(ctx)
	if err != nil {
		return fmt.Errorf("read the claims of Provider %s: %w", p.Name, err)
	}
	if slices.ContainsFunc(claims, func(c *v1alpha1.NodeClaim) bool { return c.Spec.Provider == p.Name }) {
		return nil
	}
	written, err := kube.SetProviderFinalizers(ctx, p, without(p.Finalizers, v1alpha1.ProviderFinalizer))
	if err != nil {
		return fmt.Errorf("take the finalizer off Provider %s: %w", p.Name, err)
	}
	if written.DeletionTimestamp == nil {
		live.SetProvider(written)
	}
	return nil
}

func without(finalizers []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == one })
}

// named lists the first of some texts and counts the others.
func named(texts []string) string {
	text := strings.Join(texts[:min(len(texts), maxNamed)], "; ")
	if more := len(texts) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func poolSubject(p *v1alpha1.NodePool) Subject {
	return Subject{Kind: "NodePool", PodReference: v1alpha1.PodReference{Name: p.Name, UID: p.UID}}
}

func providerSubject(p *v1alpha1.Provider) Subject {
	return Subject{Kind: "Provider", PodReference: v1alpha1.PodReference{Name: p.Name, UID: p.UID}}
}
