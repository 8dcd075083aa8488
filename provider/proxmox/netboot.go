package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
)

// build asks for a VM without a template: all of its configuration is in the one call that makes it.
func (p *Provider) build(ctx context.Context, op string, v *view, vmid int, r provider.Request, spec *v1alpha1.Proxmox) (provider.Machine, error) {
	w, _, err := p.choose(op, v, spec, nil, vmid, r)
	if err != nil {
		return provider.Machine{}, err
	}
	m := p.markFor(r, vmid, stageMade).withSeed(spec.Join)
	s, err := rawSettings(spec, m, vmid, r)
	if err != nil {
		p.finish(w)
		return provider.Machine{}, err
	}
	s["vmid"] = vmid
	if p.spec.Pool != "" {
		s["pool"] = p.spec.Pool
	}
	what := fmt.Sprintf("%s: make VM %d on host %s", op, vmid, w.host)
	return p.order(ctx, w, func() (upid, error) {
		return p.client.task(ctx, what, http.MethodPost, "/nodes/"+url.PathEscape(w.host)+"/qemu", s)
	})
}

// rawSettings are those of a machine without a template. What vmOptions say counts more.
func rawSettings(spec *v1alpha1.Proxmox, m mark, vmid int, r provider.Request) (map[string]any, error) {
	s, err := settings(spec, m, vmid, r, &vmConfig{})
	if err != nil {
		return nil, err
	}
	order := []string{"net0"}
	base := map[string]any{"ostype": "l26", "scsihw": "virtio-scsi-single"}
	if n := spec.Netboot; n.Storage != "" {
		base["scsi0"] = fmt.Sprintf("%s:%d", n.Storage, diskGiB(n, r))
		order = append(order, "scsi0")
		if n.BootOrder == v1alpha1.NetbootDiskFirst {
			order = []string{"scsi0", "net0"}
		}
		if n.BIOS == "ovmf" {
			base["bios"], base["efidisk0"] = "ovmf", n.Storage+":1,efitype=4m,pre-enrolled-keys=0"
		}
	}
	base["boot"] = "order=" + strings.Join(order, ";")
	for name, value := range base {
		if _, given := s[name]; !given {
			s[name] = value
		}
	}
	return s, nil
}

const gibi = 1 << 30

// diskGiB is the disk's size, rounded up: new disks are given in GiB.
func diskGiB(n *v1alpha1.ProxmoxNetboot, r provider.Request) int64 {
	size := int64(32 * gibi)
	if n.DiskSize != nil {
		size = n.DiskSize.Value()
	}
	if disk := r.Resources[corev1.ResourceEphemeralStorage]; !disk.IsZero() {
		size = disk.Value()
	}
	return (size + gibi - 1) / gibi
}
