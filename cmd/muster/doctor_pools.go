package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/lifecycle"
	"github.com/muster-sh/muster/provider"
)

// examine tries the Provider, then what each of its pools asks of it.
func examine(ctx context.Context, objects client.Reader, about *v1alpha1.Provider, p provider.Provider) []provider.Finding {
	found := p.Check(ctx)
	var pools v1alpha1.NodePoolList
	var providers v1alpha1.ProviderList
	err := objects.List(ctx, &pools)
	if err == nil {
		err = objects.List(ctx, &providers)
	}
	if err != nil {
		return append(found, provider.Finding{Subject: "pools", Level: provider.LevelWarning, Message: err.Error(),
			Hint: "doctor needs the right to list nodepools and providers"})
	}
	slices.SortFunc(pools.Items, func(a, b v1alpha1.NodePool) int { return strings.Compare(a.Name, b.Name) })
	mine := 0
	for i := range pools.Items {
		pool := &pools.Items[i]
		of := pool.Spec.Provider
		switch {
		case of == about.Name:
			mine++
			found = append(found, examinePool(ctx, pool, about, p)...)
		case !slices.ContainsFunc(providers.Items, func(p v1alpha1.Provider) bool { return p.Name == of }):
			found = append(found, provider.Finding{Subject: "pool " + pool.Name, Level: provider.LevelWarning,
				Message: "its provider " + of + " does not exist", Hint: "create it, or correct spec.provider of the pool"})
		}
	}
	if mine == 0 {
		found = append(found, provider.Finding{Subject: "pools", Level: provider.LevelWarning, Message: "no NodePool has spec.provider " + about.Name,
			Hint: "no machine is made without one: see deploy/samples"})
	}
	return found
}

func examinePool(ctx context.Context, pool *v1alpha1.NodePool, about *v1alpha1.Provider, p provider.Provider) (found []provider.Finding) {
	senseless := func(field string) {
		found = append(found, provider.Finding{Level: provider.LevelError, Subject: field,
			Message: fmt.Sprintf("it has no meaning with a provider of type %s", about.Spec.Type), Hint: "take it out, or correct spec.provider of the pool"})
	}
	if pool.Spec.Template.Proxmox != nil && about.Spec.Type != v1alpha1.ProviderProxmox {
		senseless("template.proxmox")
	}
	if pool.Spec.Template.Hosts != nil && !about.Spec.Type.PowersHosts() {
		senseless("template.hosts")
	}
	for _, bad := range lifecycle.Unfillable(pool) {
		found = append(found, provider.Finding{Level: provider.LevelWarning, Subject: "template", Message: bad,
			Hint: "nodes come without it; a value may name .Pool, .Provider, .Shape, .Claim, .Machine, .Host, .Rack and .Zone"})
	}
	if checker, can := p.(provider.PoolChecker); can {
		found = append(found, checker.CheckPool(ctx, pool)...)
	}
	for i := range found {
		found[i].Subject = "pool " + pool.Name + ", " + found[i].Subject
	}
	return found
}
