package main

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity/kube"
	"github.com/muster-sh/muster/provider"
)

// picky has something to say about each pool.
type picky struct{ ailing }

func (picky) CheckPool(_ context.Context, pool *v1alpha1.NodePool) []provider.Finding {
	return []provider.Finding{{Subject: "template", Level: provider.LevelError, Message: "no template has name " + pool.Name, Hint: "make one"}}
}

func poolOf(name, of string, change ...func(*v1alpha1.NodePool)) *v1alpha1.NodePool {
	p := &v1alpha1.NodePool{}
	p.Name, p.Spec.Provider = name, of
	for _, c := range change {
		c(p)
	}
	return p
}

func TestTheDoctorLooksAtPools(t *testing.T) {
	scheme, err := kube.Scheme()
	require.NoError(t, err)
	metal := &v1alpha1.Provider{}
	metal.Name, metal.Spec.Type = "metal", v1alpha1.ProviderRedfish
	objects := fake.NewClientBuilder().WithScheme(scheme).WithObjects(metal, poolOf("b", "metal"), poolOf("z", "mettal"),
		poolOf("a", "metal", func(p *v1alpha1.NodePool) { p.Spec.Template.Proxmox = &v1alpha1.ProxmoxMachine{} })).Build()
	var out bytes.Buffer
	require.ErrorIs(t, report(&out, examine(t.Context(), objects, metal, picky{})), errUnhealthy)
	require.Equal(t, `error   pool a, template.proxmox: it has no meaning with a provider of type redfish
        do: take it out, or correct spec.provider of the pool
error   pool a, template: no template has name a
        do: make one
error   pool b, template: no template has name b
        do: make one
warning pool z: its provider mettal does not exist
        do: create it, or correct spec.provider of the pool
`, out.String())

	out.Reset()
	lab := &v1alpha1.Provider{}
	lab.Name, lab.Spec.Type = "mettal", v1alpha1.ProviderSim
	objects = fake.NewClientBuilder().WithScheme(scheme).WithObjects(lab, poolOf("z", "mettal", func(p *v1alpha1.NodePool) {
		p.Spec.Template.Hosts = &v1alpha1.HostSelector{}
	})).Build()
	require.ErrorIs(t, report(&out, examine(t.Context(), objects, lab, ailing{})), errUnhealthy)
	require.Contains(t, out.String(), "pool z, template.hosts: it has no meaning with a provider of type sim")

	out.Reset()
	objects = fake.NewClientBuilder().WithScheme(scheme).WithObjects(lab, poolOf("z", "mettal", func(p *v1alpha1.NodePool) {
		p.Spec.Template.Labels = map[string]string{"host": "{{.Hots}}", "rack": "{{.Rack}}"}
	})).Build()
	require.NoError(t, report(&out, examine(t.Context(), objects, lab, ailing{})), "machines are made all the same")
	require.Contains(t, out.String(), "warning pool z, template: label host: ")
	require.Contains(t, out.String(), "Hots")
	require.NotContains(t, out.String(), "label rack")

	out.Reset()
	lab.Name = "lab"
	require.NoError(t, report(&out, examine(t.Context(), objects, lab, ailing{})))
	require.Contains(t, out.String(), "no NodePool has spec.provider lab")
}
