package proxmox_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// netbootRig makes machines without a template.
func netbootRig(t *testing.T) *rig {
	r := newRig(t)
	r.spec.Template = v1alpha1.ProxmoxTemplate{}
	r.spec.Netboot = &v1alpha1.ProxmoxNetboot{Storage: "shared"}
	r.spec.Networks = []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr1", MACPrefix: "bc:24:11"}}
	return r
}

func TestProxmoxKeepsTheContractWithoutTemplates(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, netbootRig)
}

func TestAMachineBootsFromItsNetwork(t *testing.T) {
	size := resource.MustParse("9500Mi")
	for name, c := range map[string]struct {
		change func(*v1alpha1.Proxmox, *provider.Request)
		want   map[string]string
	}{
		"with a disk of the usual size": {func(*v1alpha1.Proxmox, *provider.Request) {},
			map[string]string{"boot": "order=net0;scsi0", "scsi0": "shared:vm-ID-disk-0,size=32G", "scsihw": "virtio-scsi-single", "ostype": "l26"}},
		"with a disk as large as the pool says": {func(s *v1alpha1.Proxmox, _ *provider.Request) { s.Netboot.DiskSize = &size },
			map[string]string{"scsi0": "shared:vm-ID-disk-0,size=10G"}},
		"with a disk as large as the shape": {func(_ *v1alpha1.Proxmox, r *provider.Request) {
			r.Resources[corev1.ResourceEphemeralStorage] = resource.MustParse("40Gi")
		}, map[string]string{"scsi0": "shared:vm-ID-disk-0,size=40G"}},
		"without a disk": {func(s *v1alpha1.Proxmox, _ *provider.Request) { s.Netboot.Storage = "" },
			map[string]string{"boot": "order=net0", "scsi0": ""}},
		"from its disk as soon as there is something on it": {func(s *v1alpha1.Proxmox, _ *provider.Request) { s.Netboot.BootOrder = "DiskFirst" },
			map[string]string{"boot": "order=scsi0;net0"}},
		"by UEFI": {func(s *v1alpha1.Proxmox, _ *provider.Request) { s.Netboot.BIOS = "ovmf" },
			map[string]string{"bios": "ovmf", "efidisk0": "shared:vm-ID-disk-0,size=1G"}},
		"as vmOptions say": {func(s *v1alpha1.Proxmox, _ *provider.Request) {
			s.VMOptions = map[string]string{"ostype": "other", "boot": "order=net0"}
		},
			map[string]string{"ostype": "other", "boot": "order=net0"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, req := netbootRig(t), request(1)
			c.change(r.spec, &req)
			p := always(r.provider(t))
			m := boot(t, r, p, &req)
			vm := r.vm(t, m.ID)
			for key, want := range c.want {
				require.Equal(t, replaceID(want, m.ID), vm.Config[key], key)
			}
			require.Equal(t, "uuid="+m.SystemUUID, vm.Config["smbios1"])
			require.Regexp(t, `^virtio=BC:24:11:00:..:..,bridge=vmbr1$`, vm.Config["net0"])
			require.Equal(t, [2]string{"4", "8192"}, [2]string{vm.Config["cores"], vm.Config["memory"]})
			require.Equal(t, pool, vm.Pool)
			gone(t, r, p, m)
			require.Zero(t, r.count())
		})
	}
}

func replaceID(text string, id provider.ID) string {
	const mark = "ID"
	for i := range len(text) - 1 {
		if text[i:i+2] == mark {
			return text[:i] + string(id) + text[i+2:]
		}
	}
	return text
}

// A machine that is being made belongs to no pool yet: a token that sees its pool only does not see it.
func TestAMachineThatIsBeingMadeIsNotProvenAbsent(t *testing.T) {
	r := netbootRig(t)
	req, p := request(1), r.provider(t)
	for range 2 {
		_, err := step(t, p, &req)
		require.NoError(t, err)
	}
	restarted := r.provider(t)
	_, err := restarted.Get(t.Context(), provider.Machine{ID: req.ID, ClaimUID: req.ClaimUID})
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.ErrorContains(t, err, "a VM is being made on host")
	r.advance(time.Minute)
	m, err := restarted.Get(t.Context(), provider.Machine{ID: req.ID, ClaimUID: req.ClaimUID})
	require.NoError(t, err)
	require.Equal(t, provider.StatePending, m.State)
}

func TestWhatAnAnswerToACreationMeans(t *testing.T) {
	for name, c := range map[string]struct {
		fault pvesim.Fault
		kind  error
		vms   int
	}{
		"595 was never carried out":            {pvesim.Fault{Status: 595}, provider.ErrBusy, 0},
		"596 may have been, and was":           {pvesim.Fault{Status: 596, Done: true}, provider.ErrUnknown, 1},
		"a storage that is away is waited for": {pvesim.Fault{Status: 500, Message: "storage 'x' is not online"}, provider.ErrUnknown, 0},
		"a permission that is missing":         {pvesim.Fault{Status: 403, Message: "Permission check failed (/storage/shared, Datastore.AllocateSpace)"}, provider.ErrMisconfigured, 0},
		"a value that PVE does not take":       {pvesim.Fault{Status: 400, Message: "Parameter verification failed."}, provider.ErrRefused, 0},
		"no quorum":                            {pvesim.Fault{Status: 500, Message: "cluster not ready - no quorum?"}, provider.ErrBusy, 0},
		"a number that somebody took before":   {pvesim.Fault{Status: 500, Message: "unable to create VM 1005 - VM 1005 already exists on node 'pve2'"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := netbootRig(t)
			p, req := reserved(t, r)
			for range 3 {
				f := c.fault
				f.Method, f.Part = "POST", "/qemu"
				r.cluster.Break(f)
			}
			_, err := p.Create(t.Context(), req)
			require.Equal(t, c.kind, provider.KindOf(err))
			require.Equal(t, c.vms, r.count())
		})
	}
}

// What a pool says of its own counts, and the rest is its Provider's.
func TestAPoolHasMachinesOfItsOwn(t *testing.T) {
	r := newRig(t)
	r.spec.Tags, r.spec.Description, r.spec.CPUType = []string{"all"}, "worker", "host"
	r.spec.VMOptions = map[string]string{"balloon": "0", "onboot": "1"}
	r.spec.HostLabels = []v1alpha1.ProxmoxHostLabels{{Host: "pve3", Labels: map[string]string{"gpu": "a100"}}, {Host: "pve2", Labels: map[string]string{"gpu": "none"}}}
	r.cluster.Put(pvesim.VM{ID: 9001, Host: "pve1", Template: true, Pool: pool, Config: map[string]string{"name": "gpu", "tags": "gpu",
		"cores": "2", "memory": "2048", "scsi0": "shared:base-9001-disk-0,size=10G"}})
	own := &v1alpha1.ProxmoxMachine{
		Template: &v1alpha1.ProxmoxTemplate{Name: "gpu"}, Tags: []string{"gpu-pool"}, Description: "trains models",
		Networks: []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr7", VLAN: 30}}, VMOptions: map[string]string{"onboot": "0", "machine": "q35"},
		Placement: &v1alpha1.ProxmoxPlacement{HostSelector: map[string]string{"gpu": "a100"}}, Clone: "Full", Storage: "shared",
	}
	p := always(r.provider(t))
	req := request(1)
	req.Proxmox = own
	m := boot(t, r, p, &req)
	vm := r.vm(t, m.ID)
	require.Equal(t, "pve3", m.Host)
	require.Contains(t, vm.Config["scsi0"], "base-9001")
	require.Contains(t, vm.Config["tags"], "gpu-pool")
	require.NotContains(t, vm.Config["tags"], "all")
	require.Contains(t, vm.Config["description"], "trains models\n")
	for name, want := range map[string]string{"net0": "virtio,bridge=vmbr7,tag=30", "onboot": "0", "balloon": "0", "machine": "q35", "cpu": "host"} {
		require.Equal(t, want, vm.Config[name], name)
	}
	other := request(2)
	require.Contains(t, r.vm(t, boot(t, r, p, &other).ID).Config["tags"], "all", "the other pool has its Provider's")

	raw := request(3)
	raw.Proxmox = &v1alpha1.ProxmoxMachine{Netboot: &v1alpha1.ProxmoxNetboot{}, Networks: own.Networks}
	require.Equal(t, "order=net0", r.vm(t, boot(t, r, p, &raw).ID).Config["boot"])

	for want, bad := range map[string]*v1alpha1.ProxmoxMachine{
		"networks is required": {Netboot: &v1alpha1.ProxmoxNetboot{}},
		`"ballon"`:             {VMOptions: map[string]string{"ballon": "1"}},
		"does not match":       {Placement: &v1alpha1.ProxmoxPlacement{HostSelector: map[string]string{"gpu": "h100"}}},
	} {
		req := request(4)
		req.Proxmox = bad
		q := r.provider(t)
		_, err := step(t, q, &req)
		if err == nil {
			_, err = step(t, q, &req)
		}
		require.ErrorContains(t, err, want)
	}
}
