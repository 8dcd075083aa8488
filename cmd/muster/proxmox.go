package main

import (
	"time"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/seed"
)

// proxmoxView is how old a look at a Proxmox cluster may be when it is used for several machines.
const proxmoxView = time.Second

func (r *registry) proxmox(p *v1alpha1.Provider) (provider.Provider, error) {
	transport, err := dial.Transport(p.Spec.TLS)
	if err != nil {
		return nil, err
	}
	return proxmox.New(proxmox.Config{Name: p.Name, Endpoint: p.Spec.Endpoint, Spec: p.Spec.Proxmox,
		Credentials: r.credentials(p.Spec.Credentials), Transport: r.pve.through(p.Name, transport), Now: r.now, ViewAge: proxmoxView,
		Templates: r.secret, Tokens: seed.Tokens{Kube: r.kube}})
}
