package proxmox_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

func nodePool(own *v1alpha1.ProxmoxMachine, cpu, memory string) *v1alpha1.NodePool {
	p := &v1alpha1.NodePool{}
	p.Name = "std"
	p.Spec.Template.Proxmox = own
	p.Spec.Template.Shapes = []v1alpha1.Shape{{Name: "m", Resources: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}}
	return p
}

func TestCheckPoolSaysWhatAPoolsOwnSettingsLack(t *testing.T) {
	for name, c := range map[string]struct {
		own         *v1alpha1.ProxmoxMachine
		cpu, memory string
		change      func(*rig)
		level       provider.Level
		want        string
	}{
		"nothing of its own": {nil, "4", "8Gi", nil, provider.LevelOK, "shape m: has room, for example on host pve1"},
		"a template that is not there": {&v1alpha1.ProxmoxMachine{Template: &v1alpha1.ProxmoxTemplate{Name: "gpu"}}, "4", "8Gi", nil,
			provider.LevelError, "template: no template has name gpu (see spec.proxmox.template"},
		"settings that exclude each other": {&v1alpha1.ProxmoxMachine{Netboot: &v1alpha1.ProxmoxNetboot{}}, "4", "8Gi", nil,
			provider.LevelError, "template.proxmox: proxmox.networks is required with netboot"},
		"an option that is none": {&v1alpha1.ProxmoxMachine{VMOptions: map[string]string{"ballon": "0"}}, "4", "8Gi", nil,
			provider.LevelError, "ballon"},
		"a storage that takes no disks": {&v1alpha1.ProxmoxMachine{Clone: "Full", Storage: "iso"}, "4", "8Gi", nil,
			provider.LevelError, "storage iso: no storage of this name takes disks"},
		"a disk of a netboot machine without a storage": {&v1alpha1.ProxmoxMachine{Netboot: &v1alpha1.ProxmoxNetboot{Storage: "fast"},
			Networks: []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr0"}}}, "4", "8Gi", nil,
			provider.LevelError, "pvesm set fast --content images"},
		"a storage for images that takes none": {&v1alpha1.ProxmoxMachine{Join: &v1alpha1.ProxmoxJoin{Storage: "shared",
			Templates: v1alpha1.SecretReference{Namespace: "x", Name: "y"}}}, "4", "8Gi", nil, provider.LevelError, "pvesm set shared --content iso"},
		"join templates that are not there": {&v1alpha1.ProxmoxMachine{Join: &v1alpha1.ProxmoxJoin{Storage: "iso",
			Templates: v1alpha1.SecretReference{Namespace: "x", Name: "y"}}}, "4", "8Gi", nil, provider.LevelError, `join templates: secrets "y" not found`},
		"a bridge that no host has": {&v1alpha1.ProxmoxMachine{Networks: []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr7"}}}, "4", "8Gi", nil,
			provider.LevelError, "bridge vmbr7: not on pve1, pve2, pve3, or not for the token (make the bridge there, give the token SDN.Use"},
		"a bridge that the token may not use": {&v1alpha1.ProxmoxMachine{Networks: []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr0"}}}, "4", "8Gi",
			func(r *rig) { r.without("/sdn/zones/localnetwork", "SDN.Use") }, provider.LevelError, "bridge vmbr0: not on pve1, pve2, pve3"},
		"a bridge of hosts that are chosen": {&v1alpha1.ProxmoxMachine{Networks: []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr7"}},
			Placement: &v1alpha1.ProxmoxPlacement{Hosts: []string{"pve4"}}}, "4", "8Gi",
			func(r *rig) {
				r.cluster.Add(pvesim.Host{Name: "pve4", CPUs: 8, Memory: 64 << 30, Bridges: []string{"vmbr7"}})
			},
			provider.LevelOK, "bridge vmbr7: on 1 hosts"},
		"labels that no host has": {&v1alpha1.ProxmoxMachine{Placement: &v1alpha1.ProxmoxPlacement{HostSelector: map[string]string{"gpu": "a100"}}},
			"4", "8Gi", nil, provider.LevelError, "shape m: no host has room: pve1: does not match placement.hostSelector; "},
		"a shape larger than every host": {nil, "65", "8Gi", nil, provider.LevelError, "one VM may not have 65"},
		"a shape for which there is no room now": {nil, "64", "8Gi", func(r *rig) {
			for n, host := range []string{"pve1", "pve2", "pve3"} {
				r.cluster.Put(pvesim.VM{ID: 100 + n, Host: host, Running: true, Pool: pool, Config: map[string]string{"cores": "2", "memory": "1024"}})
			}
		}, provider.LevelWarning, "62 cores left of 64 needed"},
		"a shape that is no VM": {nil, "4", "8Mi", nil, provider.LevelError, "a VM has at least 1 core and 16Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.change != nil {
				c.change(r)
			}
			r.advance(15e9) // listings know what was put in
			all := ""
			for _, f := range r.provider(t).CheckPool(t.Context(), nodePool(c.own, c.cpu, c.memory)) {
				if f.Level == c.level {
					all += f.Subject + ": " + f.Message + " (" + f.Hint + ")\n"
				}
				require.True(t, f.Level == provider.LevelOK || f.Hint != "" || c.level != f.Level, "%s: what is there to do?", f.Subject)
			}
			require.Contains(t, all, c.want)
			require.Empty(t, r.cluster.Volumes())
		})
	}
}

func TestCheckPoolOfARangeLooksAtItsSmallest(t *testing.T) {
	p := nodePool(nil, "1", "1Gi")
	p.Spec.Template.Shapes = nil
	p.Spec.Template.Range = &v1alpha1.ShapeRange{CPU: v1alpha1.QuantityRange{Min: resource.MustParse("65"), Max: resource.MustParse("99")},
		Memory: v1alpha1.QuantityRange{Min: resource.MustParse("1Gi"), Max: resource.MustParse("2Gi")}}
	found := newRig(t).provider(t).CheckPool(t.Context(), p)
	require.Len(t, found, 1)
	require.Equal(t, "shape of the smallest size", found[0].Subject)
	require.Equal(t, provider.LevelError, found[0].Level)
}
