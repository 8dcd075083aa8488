package proxmox_test

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/providertest"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
	"github.com/muster-sh/muster/provider/seed"
)

// rig is a Provider over a simulated cluster of three hosts, with a clock that is set by hand.
type rig struct {
	cluster *pvesim.Cluster
	wire    *providertest.Wire
	spec    *v1alpha1.Proxmox
	viewAge time.Duration
	server  *httptest.Server
	kube    *fake.Clientset
	secret  map[string][]byte // what spec.join.templates names

	mu     sync.Mutex
	passed time.Duration
	token  string
	number int
}

var epoch = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return epoch.Add(r.passed)
}

func (r *rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed += d
}

const (
	tokenID    = "muster@pve!m"
	canary     = "canary-8c1e64f2-secret"
	templateID = 9000
	pool       = "muster"
)

func enough() map[string][]string {
	machines := []string{"VM.Allocate", "VM.Audit", "VM.Clone", "VM.Config.CDROM", "VM.Config.CPU", "VM.Config.Cloudinit", "VM.Config.Disk",
		"VM.Config.Memory", "VM.Config.Network", "VM.Config.Options", "VM.PowerMgmt", "Pool.Audit"}
	return map[string][]string{"/pool/" + pool: machines, "/vms/9000": {"VM.Audit", "VM.Clone"}, "/nodes": {"Sys.Audit"},
		"/sdn/zones/localnetwork": {"SDN.Use"},
		"/storage/iso":            {"Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"},
		"/storage/local":          {"Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"},
		"/storage/shared":         {"Datastore.AllocateSpace", "Datastore.Audit"}, "/storage/local-lvm": {"Datastore.AllocateSpace", "Datastore.Audit"}}
}

func newRig(t *testing.T) *rig {
	r := &rig{token: canary, kube: fake.NewClientset()}
	gib := int64(1 << 30)
	r.cluster = pvesim.New(r.now, pvesim.Host{Name: "pve1", CPUs: 64, Memory: 512 * gib}, pvesim.Host{Name: "pve2", CPUs: 64, Memory: 512 * gib},
		pvesim.Host{Name: "pve3", CPUs: 64, Memory: 512 * gib})
	r.cluster.Token(tokenID, canary)
	r.cluster.Allow(enough())
	r.cluster.Put(pvesim.VM{ID: templateID, Host: "pve1", Template: true, Config: map[string]string{"name": "k8s", "tags": "golden",
		"cores": "2", "memory": "2048", "scsi0": "shared:base-9000-disk-0,size=10G", "smbios1": "uuid=00000000-0000-4000-8000-000000000000"}})
	r.server = providertest.Certified(httptest.NewUnstartedServer(r.cluster))
	r.server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that trust nobody hang up
	r.server.StartTLS()
	t.Cleanup(r.server.Close)
	r.spec = &v1alpha1.Proxmox{Region: "home", VMIDs: v1alpha1.VMIDRange{Min: 1000, Max: 1999}, Pool: pool,
		Template: v1alpha1.ProxmoxTemplate{ID: templateID}, MaxClonesPerHost: 100, MaxClonesPerStorage: 100}
	transport, err := dial.Transport(&v1alpha1.TLS{Fingerprint: dial.Fingerprint(r.server.Certificate())})
	require.NoError(t, err)
	t.Cleanup(transport.CloseIdleConnections)
	r.wire = &providertest.Wire{Base: transport}
	return r
}

func (r *rig) provider(t *testing.T) *proxmox.Provider {
	read := func(context.Context) (map[string][]byte, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return map[string][]byte{"tokenID": []byte(tokenID), "tokenSecret": []byte(r.token)}, nil
	}
	p, err := proxmox.New(proxmox.Config{Name: "px", Endpoint: r.server.URL, Spec: r.spec, Now: r.now, ViewAge: r.viewAge, Pause: time.Millisecond,
		Credentials: &dial.Credentials{Read: read, Now: r.now}, Transport: r.wire, Tokens: seed.Tokens{Kube: r.kube},
		Templates: func(_ context.Context, ref v1alpha1.SecretReference) (map[string][]byte, error) {
			if r.secret == nil {
				return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, ref.Name)
			}
			return r.secret, nil
		}})
	require.NoError(t, err)
	return p
}

// rotate changes the token's secret at both ends.
func (r *rig) rotate() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
	r.token = canary + strconv.Itoa(r.number)
	r.cluster.Token(tokenID, r.token)
}

// count is how many VMs there are beside the template.
func (r *rig) count() int { return len(r.cluster.VMs()) - 1 }

func (r *rig) foreign(vm pvesim.VM) func() (provider.ID, func() bool) {
	return func() (provider.ID, func() bool) {
		r.cluster.Put(vm)
		before, _ := r.cluster.VM(vm.ID)
		return provider.ID(strconv.Itoa(vm.ID)), func() bool {
			after, there := r.cluster.VM(vm.ID)
			return there && after.Running == before.Running && after.Stops == 0 && len(after.Config) == len(before.Config)
		}
	}
}

func TestProxmoxKeepsTheContract(t *testing.T) {
	t.Parallel()
	keepsTheContract(t, newRig)
}

func keepsTheContract(t *testing.T, newRig func(*testing.T) *rig) {
	providertest.Run(t, func(t *testing.T) providertest.Backend { return newRig(t).backend(t) })
	providertest.RunWire(t, func(t *testing.T) providertest.Backend {
		r := newRig(t)
		r.wire.Base = providertest.Direct{Handler: r.cluster}
		b := r.backend(t)
		b.Wire = r.wire
		return b
	})
}

// backend is the rig for the suite of all providers.
func (r *rig) backend(t *testing.T) providertest.Backend {
	imposter := map[string]string{"name": "std-001", "tags": "muster", "scsi0": "shared:x", "description": `muster: {"provider":"px","claim":"std-001",` +
		`"uid":"another-uid","attempt":1,"pool":"std","shape":"m","stage":"made"}`}
	return providertest.Backend{
		Provider: r.provider(t), Advance: r.advance, Now: r.now, Count: r.count, Rotate: r.rotate, Secrets: []string{canary, canaryUserData},
		Blind: func() {
			rights := enough()
			rights["/pool/"+pool] = []string{"VM.Allocate", "VM.PowerMgmt"}
			r.cluster.Allow(rights)
		},
		Foreign: map[string]func() (provider.ID, func() bool){
			"a VM outside our range":     r.foreign(pvesim.VM{ID: 100, Host: "pve1", Running: true, Pool: pool, Config: map[string]string{"name": "db"}}),
			"a VM inside our range":      r.foreign(pvesim.VM{ID: 1500, Host: "pve2", Running: true, Pool: pool, Config: map[string]string{"name": "std-001"}}),
			"a template in our range":    r.foreign(pvesim.VM{ID: 1501, Host: "pve2", Template: true, Pool: pool, Config: imposter}),
			"our name, another identity": r.foreign(pvesim.VM{ID: 1502, Host: "pve2", Running: true, Pool: pool, Config: imposter}),
			"a VM being cloned by others": r.foreign(pvesim.VM{ID: 1503, Host: "pve2", Pool: pool,
				Config: map[string]string{"description": "restored\n"}}),
		},
	}
}
