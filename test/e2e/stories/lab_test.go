package stories

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
	"github.com/muster-sh/muster/test/e2e/stage"
	"github.com/muster-sh/muster/test/e2e/witness"
)

const (
	// labCanary is the secret of the API token: it may be in no log.
	labCanary = "canary-pve-token"
	labPool   = "muster"
	// labClones is how many clones may run at once from one host.
	labClones = 4
	// labBoot is how long a VM's kubelet takes.
	labBoot = time.Second
)

// lab is a Proxmox VE cluster of three hosts behind TLS. Each host has a template of its own. A VM that runs registers its
// Node.
type lab struct {
	s       *stage.Stage
	cluster *pvesim.Cluster
	trap    *trap

	mu      sync.Mutex
	away    bool       // nobody reaches the API
	silent  bool       // no Node registers
	chance  *rand.Rand // nil: nothing goes wrong
	broken  int
	clones  map[string]int // the most clones that ran at once, by host
	booting map[int]time.Time
	before  map[int]pvesim.VM // what is not Muster's
}

var labHosts = []string{"pve1", "pve2", "pve3"}

// newLab makes the hosts with templates, guests that are not Muster's, Secret and Provider.
func newLab(s *stage.Stage) *lab {
	l := &lab{s: s, trap: &trap{}, clones: map[string]int{}, booting: map[int]time.Time{}, before: map[int]pvesim.VM{}}
	var hosts []pvesim.Host
	for _, name := range labHosts {
		hosts = append(hosts, pvesim.Host{Name: name, CPUs: 32, Memory: 256 << 30})
	}
	l.cluster = pvesim.New(time.Now, hosts...)
	l.cluster.Token("muster@pve!m", labCanary)
	l.cluster.Allow(labRights())
	l.furnish()
	server := httptest.NewTLSServer(l)
	s.T.Cleanup(server.Close)
	create(s, &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "lab"}, Spec: v1alpha1.ProviderSpec{
		Type: v1alpha1.ProviderProxmox, Endpoint: server.URL, TLS: &v1alpha1.TLS{Fingerprint: dial.Fingerprint(server.Certificate())},
		Credentials: entrust(s, "lab", map[string]string{"tokenID": "muster@pve!m", "tokenSecret": labCanary}),
		Proxmox: &v1alpha1.Proxmox{Region: "lab", VMIDs: v1alpha1.VMIDRange{Min: 1000, Max: 1999}, Pool: labPool,
			Template: v1alpha1.ProxmoxTemplate{Tag: "golden"}, MaxClonesPerHost: labClones, MaxClonesPerStorage: 100,
			Placement: v1alpha1.ProxmoxPlacement{Strategy: v1alpha1.PlacementSpread, Overcommit: stage.Resources("cpu", "4")}},
	}})
	go l.boot()
	return l
}

// labRights are those of docs/proxmox.md.
func labRights() map[string][]string {
	rights := map[string][]string{"/nodes": {"Sys.Audit"}, "/storage/local-lvm": {"Datastore.AllocateSpace", "Datastore.Audit"},
		"/pool/" + labPool: {"VM.Allocate", "VM.Audit", "VM.Clone", "VM.Config.CPU", "VM.Config.Cloudinit", "VM.Config.Disk",
			"VM.Config.Memory", "VM.Config.Network", "VM.Config.Options", "VM.PowerMgmt", "Pool.Audit"}}
	for n := range labHosts {
		rights[fmt.Sprintf("/vms/%d", 9000+n)] = []string{"VM.Audit", "VM.Clone"}
	}
	return rights
}

// furnish puts in the templates and what others have there: a VM outside of Muster's numbers, and within them one of the
// same resource pool and one that has a claim's name and Muster's tag.
func (l *lab) furnish() {
	theirs := []pvesim.VM{
		{ID: 100, Host: "pve1", Running: true, Config: map[string]string{"name": "db", "cores": "2", "memory": "4096"}},
		{ID: 1500, Host: "pve2", Running: true, Pool: labPool, Config: map[string]string{"name": "build", "cores": "2", "memory": "4096"}},
		{ID: 1501, Host: "pve3", Pool: labPool, Config: map[string]string{"name": "lab-000", "tags": "muster", "cores": "2", "memory": "4096"}},
	}
	for n, host := range labHosts {
		theirs = append(theirs, pvesim.VM{ID: 9000 + n, Host: host, Template: true, Config: map[string]string{"name": "k8s-" + host,
			"tags": "golden", "cores": "2", "memory": "2048", "scsi0": fmt.Sprintf("local-lvm:base-%d-disk-0,size=10G", 9000+n),
			"smbios1": "uuid=00000000-0000-4000-8000-000000000000"}})
	}
	for _, vm := range theirs {
		l.cluster.Put(vm)
		l.before[vm.ID], _ = l.cluster.VM(vm.ID)
	}
}

// misfortunes are what goes wrong with a request, or with the task that it begins.
var misfortunes = []pvesim.Fault{
	{Status: 595}, {Status: 596}, {Status: 596, Done: true}, {Status: 500, Message: "can't lock file '/var/lock/qemu-server/lock-1.conf' - got timeout"},
	{Status: 500, Message: "got no worker upid - start worker failed"}, {Status: 502}, {Method: "POST", Message: "command failed: exit code 1"},
	{Method: "POST", Status: 500, Message: "oops", Done: true}, {Method: "PUT", Status: 599, Done: true},
}

// trouble lets one request in twenty go wrong, chosen by the seed.
func (l *lab) trouble(seed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chance = rand.New(rand.NewPCG(seed, 1))
}

func (l *lab) calm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chance = nil
	l.cluster.Mend()
	l.s.T.Logf("%d requests went wrong", l.broken)
}

// reachable cuts the API off, or joins it again.
func (l *lab) reachable(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = !yes
}

// mute keeps Nodes from registering, or lets them.
func (l *lab) mute(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = yes
}

func (l *lab) muted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.silent
}

// keepFree has so much memory stay free on every host.
func (l *lab) keepFree(memory string) {
	l.s.T.Helper()
	require.NoError(l.s.T, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var p v1alpha1.Provider
		if err := l.s.Plane.Objects.Get(l.s.Ctx, client.ObjectKey{Name: "lab"}, &p); err != nil {
			return err
		}
		p.Spec.Proxmox.Placement.MinFree = stage.Resources("memory", memory)
		return l.s.Plane.Objects.Update(l.s.Ctx, &p)
	}))
}

// ServeHTTP is the API.
func (l *lab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	if l.away {
		l.mu.Unlock()
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	if l.chance != nil && l.chance.IntN(20) == 0 {
		l.cluster.Break(misfortunes[l.chance.IntN(len(misfortunes))])
		l.broken++
	}
	l.mu.Unlock()
	l.trap.serve(w, r, l.cluster)
	if strings.HasSuffix(r.URL.Path, "/clone") {
		l.countClones()
	}
}

func (l *lab) countClones() {
	now := map[string]int{}
	for _, vm := range l.cluster.VMs() {
		if vm.Config["lock"] == "clone" {
			now[vm.Host]++
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for host, n := range now {
		l.clones[host] = max(l.clones[host], n)
	}
}

// boot registers the Node of every VM of Muster's that has run for a while, until the story ends.
func (l *lab) boot() {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for l.s.Ctx.Err() == nil {
		running := map[int]time.Time{}
		for id, vm := range l.ours() {
			if !vm.Running {
				continue
			}
			running[id] = time.Now()
			if since, known := l.booting[id]; known {
				running[id] = since
			}
			if time.Since(running[id]) >= labBoot && !l.muted() {
				l.kubelet(vm)
			}
		}
		l.booting = running
		<-tick.C
	}
}

func (l *lab) kubelet(vm pvesim.VM) {
	uuid := strings.TrimPrefix(vm.Config["smbios1"], "uuid=")
	register(l.s, vm.Config["name"], fmt.Sprintf("proxmox://lab/%d", vm.ID), uuid,
		stage.Resources("cpu", vm.Config["cores"], "memory", vm.Config["memory"]+"Mi", "pods", "110"))
}

// ours are all VMs but those of others: whatever else there is, is Muster's doing.
func (l *lab) ours() map[int]pvesim.VM {
	all := map[int]pvesim.VM{}
	for _, vm := range l.cluster.VMs() {
		if _, theirs := l.before[vm.ID]; !theirs {
			all[vm.ID] = vm
		}
	}
	return all
}

// List is what the witness sees. A VM that is being made does not say yet for whom.
func (l *lab) List(context.Context) ([]witness.Machine, error) {
	ours := l.ours()
	var list []witness.Machine
	for _, id := range slices.Sorted(maps.Keys(ours)) {
		vm := ours[id]
		m := witness.Machine{ID: fmt.Sprint(id), ProviderID: fmt.Sprintf("proxmox://lab/%d", id), State: map[bool]string{true: "running"}[vm.Running]}
		var mark struct {
			Claim   string    `json:"claim"`
			UID     types.UID `json:"uid"`
			Attempt int32     `json:"attempt"`
		}
		_, note, _ := strings.Cut(vm.Config["description"], "\nmuster: ")
		if lock := vm.Config["lock"]; note == "" && (lock == "clone" || lock == "create") {
			continue
		}
		if err := json.Unmarshal([]byte(note), &mark); err != nil {
			return nil, fmt.Errorf("VM %d has notes %q: %w", id, vm.Config["description"], err)
		}
		m.Claim, m.ClaimUID, m.Attempt = mark.Claim, mark.UID, mark.Attempt
		list = append(list, m)
	}
	return list, nil
}

// othersUntouched compares what is not Muster's with what it was.
func (l *lab) othersUntouched() {
	l.s.T.Helper()
	for id, before := range l.before {
		now, there := l.cluster.VM(id)
		require.True(l.s.T, there, "VM %d is gone", id)
		require.Equal(l.s.T, before, now, "VM %d was touched", id)
	}
}

// labIsEmpty is nil when no VM of Muster's is left.
func (l *lab) empty() error {
	if ours := l.ours(); len(ours) > 0 {
		return fmt.Errorf("VMs %v are left", slices.Sorted(maps.Keys(ours)))
	}
	return nil
}

// labNodes is the pool of the lab's VMs: one pod of each.
func labNodes(most int32) *v1alpha1.NodePool {
	return stage.Pool("lab", most, []v1alpha1.Shape{stage.Shape("m", "cpu", "4", "memory", "8Gi")}, func(p *v1alpha1.NodePool) {
		p.Spec.Provider = "lab"
		p.Spec.Template.Labels = map[string]string{corev1.LabelTopologyZone: "{{.Zone}}", "example.org/vmid": "{{.Machine}}"}
	})
}
