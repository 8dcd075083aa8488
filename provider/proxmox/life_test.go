package proxmox_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/identity"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

func request(n int) provider.Request {
	return provider.Request{Claim: fmt.Sprintf("std-%03d", n), ClaimUID: types.UID(fmt.Sprintf("5d5c3f6e-0000-4000-8000-%012d", n)), Attempt: 1,
		Pool: "std", Shape: "m", Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"),
			corev1.ResourceMemory: resource.MustParse("8Gi")}}
}

// step does what a claim does next: it writes the number down, asks for what is missing, or looks.
func step(t *testing.T, p *proxmox.Provider, r *provider.Request) (provider.Machine, error) {
	t.Helper()
	m, err := p.Create(t.Context(), *r)
	if err == nil && m.State == provider.StateReserved {
		r.ID = m.ID
	}
	return m, err
}

// boot takes a machine to where it runs; between two steps, between is called.
func boot(t *testing.T, r *rig, p func() *proxmox.Provider, req *provider.Request) provider.Machine {
	t.Helper()
	for range 40 {
		m, err := step(t, p(), req)
		if err != nil && !errors.Is(err, provider.ErrUnknown) && !errors.Is(err, provider.ErrBusy) {
			require.NoError(t, err)
		}
		if err == nil && m.State == provider.StateRunning {
			return m
		}
		r.advance(15 * time.Second)
	}
	require.Fail(t, "it does not come to run")
	return provider.Machine{}
}

func gone(t *testing.T, r *rig, p func() *proxmox.Provider, m provider.Machine) {
	t.Helper()
	for range 40 {
		err := p().Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now()))
		if errors.Is(err, provider.ErrNotFound) {
			return
		}
		if err != nil && !errors.Is(err, provider.ErrUnknown) && !errors.Is(err, provider.ErrBusy) {
			require.NoError(t, err)
		}
		r.advance(15 * time.Second)
	}
	require.Fail(t, "it does not go")
}

func always(p *proxmox.Provider) func() *proxmox.Provider {
	return func() *proxmox.Provider { return p }
}

func TestAMachineIsWhatWasAskedFor(t *testing.T) {
	r := newRig(t)
	r.spec.Networks = []v1alpha1.ProxmoxNetwork{{Bridge: "vmbr1", VLAN: 20, MACPrefix: "bc:24:11"}}
	r.spec.CPUType, r.spec.Tags, r.spec.Description = "x86-64-v3", []string{"prod"}, "worker"
	r.spec.VMOptions = map[string]string{"balloon": "0", "onboot": "1"}
	r.spec.CloudInit = &v1alpha1.ProxmoxCloudInit{User: "core", SSHKeys: []string{"ssh-ed25519 AAAA+b/c= me@home"}, IPConfig: []string{"ip=dhcp"}}
	req := request(1)
	req.Resources[corev1.ResourceEphemeralStorage] = resource.MustParse("40Gi")
	m := boot(t, r, always(r.provider(t)), &req)
	id, err := strconv.Atoi(string(m.ID))
	require.NoError(t, err)
	vm, _ := r.cluster.VM(id)
	require.Equal(t, 1, vm.Starts)
	require.Equal(t, pool, vm.Pool)
	for name, want := range map[string]string{"name": m.NodeName, "cores": "4", "memory": "8192", "cpu": "x86-64-v3", "balloon": "0", "ciuser": "core",
		"ipconfig0": "ip=dhcp", "sshkeys": "ssh-ed25519%20AAAA%2Bb%2Fc%3D%20me%40home", "scsi0": "local-lvm:vm-disk-0,size=40960M"} {
		require.Equal(t, want, vm.Config[name], name)
	}
	require.Regexp(t, `^virtio=BC:24:11:00:..:..,bridge=vmbr1,tag=20$`, vm.Config["net0"])
	require.Equal(t, "uuid="+m.SystemUUID, vm.Config["smbios1"], "what the kubelet reports")
	require.Contains(t, vm.Config["tags"], "golden;muster;muster-")
	require.Contains(t, vm.Config["tags"], "prod")
	require.True(t, strings.HasPrefix(vm.Config["description"], "worker\n"))
	require.Equal(t, "proxmox://home/"+string(m.ID), m.ProviderID)
	require.Equal(t, identity.MadeNodeName("std-001", m.ClaimUID, 1), m.NodeName)
	require.Equal(t, m.Host, m.Zone)
}

func TestMusterMayBeKilledAfterEveryStep(t *testing.T) {
	r := newRig(t)
	fresh := func() *proxmox.Provider { return r.provider(t) }
	req := request(1)
	m := boot(t, r, fresh, &req)
	require.Equal(t, 1, r.count())
	gone(t, r, fresh, m)
	require.Zero(t, r.count())
}

// A token that sees its pool only sees no VM that is being cloned: the pool is set when the clone ends.
func TestAMachineThatIsBeingClonedIsNotProvenAbsent(t *testing.T) {
	r := newRig(t)
	req := request(1)
	p := r.provider(t)
	_, err := step(t, p, &req)
	require.NoError(t, err)
	_, err = step(t, p, &req)
	require.NoError(t, err)
	restarted := r.provider(t)
	_, err = restarted.Get(t.Context(), provider.Machine{ID: req.ID, ClaimUID: req.ClaimUID})
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.ErrorIs(t, restarted.Delete(t.Context(), provider.Machine{ID: req.ID, Claim: req.Claim, ClaimUID: req.ClaimUID, Attempt: 1}, gatetest.Judge(gate.Delete, provider.Machine{ID: req.ID, Claim: req.Claim, ClaimUID: req.ClaimUID, Attempt: 1}, r.now())), provider.ErrUnknown)
	r.advance(time.Minute)
	m, err := restarted.Get(t.Context(), provider.Machine{ID: req.ID, ClaimUID: req.ClaimUID})
	require.NoError(t, err)
	require.Equal(t, provider.StatePending, m.State)
}

func TestAKeptMachineIsWokenForTheNextClaim(t *testing.T) {
	r := newRig(t)
	p := always(r.provider(t))
	first := request(1)
	first.Keep = true
	m := boot(t, r, p, &first)
	gone(t, r, p, m)
	require.Equal(t, 1, r.count(), "stopped and kept")
	list, err := p().List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, provider.StateKept, list[0].State)
	require.Empty(t, list[0].ClaimUID)
	other := request(2)
	other.Shape = "xl"
	require.NotEqual(t, m.ID, boot(t, r, p, &other).ID, "another shape gets a machine of its own")
	second := request(3)
	again := boot(t, r, p, &second)
	require.Equal(t, m.ID, again.ID)
	require.NotEqual(t, m.SystemUUID, again.SystemUUID)
	require.Equal(t, 2, r.count())
	require.ErrorIs(t, p().Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())), provider.ErrRefused, "it is not the first claim's any more")
	gone(t, r, p, again)
	require.Equal(t, 1, r.count(), "it was not to be kept this time")
}

// Two clusters of Muster may share a Proxmox VE cluster, a range of numbers and even the Provider's name.
func TestAKeptMachineIsNotWokenByAnotherCluster(t *testing.T) {
	for name, c := range map[string]struct{ made, released, asks types.UID }{
		"another cluster's":                     {"a", "a", "b"},
		"of a time when marks did not say":      {"", "", "b"},
		"of that time, released by its cluster": {"", "a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := always(r.provider(t))
			first := request(1)
			first.Keep, first.Cluster = true, c.made
			m := boot(t, r, p, &first)
			m.Cluster = c.released
			gone(t, r, p, m)
			second := request(2)
			second.Cluster = c.asks
			require.NotEqual(t, m.ID, boot(t, r, p, &second).ID)
			if c.released != "" {
				third := request(3)
				third.Cluster = c.released
				require.Equal(t, m.ID, boot(t, r, p, &third).ID, "its own cluster wakes it")
			}
		})
	}
}

func TestAMachineOfAnotherClusterIsNotRemoved(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	req := request(1)
	req.Cluster = "a"
	m := boot(t, r, always(p), &req)
	m.Cluster = "b"
	require.ErrorIs(t, p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())), provider.ErrRefused)
	require.Equal(t, 1, r.count())
}

func TestWhatSomebodyChangedIsNotTouched(t *testing.T) {
	for name, change := range map[string]func(*pvesim.VM){
		"the tags are gone":        func(vm *pvesim.VM) { delete(vm.Config, "tags") },
		"the claim's tag is gone":  func(vm *pvesim.VM) { vm.Config["tags"] = "muster" },
		"the UUID is another one":  func(vm *pvesim.VM) { vm.Config["smbios1"] = "uuid=00000000-0000-4000-8000-00000000beef" },
		"it was made a template":   func(vm *pvesim.VM) { vm.Template, vm.Running = true, false },
		"the notes were rewritten": func(vm *pvesim.VM) { vm.Config["description"] = "do not delete" },
		"the notes are of another claim": func(vm *pvesim.VM) {
			vm.Config["description"] = strings.ReplaceAll(vm.Config["description"], "std-001", "std-009")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p := r.provider(t)
			req := request(1)
			m := boot(t, r, always(p), &req)
			id, err := strconv.Atoi(string(m.ID))
			require.NoError(t, err)
			r.cluster.Change(id, change)
			require.ErrorIs(t, p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())), provider.ErrRefused)
			vm, there := r.cluster.VM(id)
			require.True(t, there)
			require.Zero(t, vm.Stops)
		})
	}
}

func TestANumberThatSomebodyTookIsGivenUp(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	req := request(1)
	_, err := step(t, p, &req)
	require.NoError(t, err)
	id, err := strconv.Atoi(string(req.ID))
	require.NoError(t, err)
	r.cluster.Put(pvesim.VM{ID: id, Host: "pve2", Running: true, Pool: pool, Config: map[string]string{"name": "db"}})
	before := req.ID
	m := boot(t, r, always(p), &req)
	require.NotEqual(t, before, m.ID)
	vm, _ := r.cluster.VM(id)
	require.True(t, vm.Running)
	require.Equal(t, "db", vm.Config["name"])
}

// Calls for one machine must not grow with the number of machines.
func TestCallsPerMachine(t *testing.T) {
	t.Parallel()
	perMachine := map[int]float64{}
	for _, n := range []int{1, 10, 100} {
		r := newRig(t)
		r.viewAge = time.Second
		r.spec.Placement.Overcommit = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10"), corev1.ResourceMemory: resource.MustParse("10")}
		p := r.provider(t)
		requests := make([]provider.Request, n)
		for i := range requests {
			requests[i] = request(i)
		}
		running := 0
		for range 12 {
			for i := range requests {
				m, err := step(t, p, &requests[i])
				require.NoError(t, err)
				if m.State == provider.StateReserved {
					_, err = step(t, p, &requests[i])
					require.NoError(t, err)
				}
				if m.State == provider.StateRunning {
					running++
				}
			}
			if running >= n {
				break
			}
			r.advance(2 * time.Second)
		}
		require.GreaterOrEqual(t, running, n)
		perMachine[n] = float64(len(r.cluster.Requests())) / float64(n)
	}
	t.Logf("calls per machine: %v", perMachine)
	require.LessOrEqual(t, perMachine[100], perMachine[1])
	require.Less(t, perMachine[100], 25.0)
}
