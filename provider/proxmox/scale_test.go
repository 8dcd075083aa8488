package proxmox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// wave is what so many claims at once cost.
type wave struct {
	took  time.Duration
	calls map[string]int
	all   int
}

// fleet are claims whose machines are made together.
type fleet struct {
	*rig
	p      *proxmox.Provider
	actors []*actor
}

// wakeUp takes claims through their life in virtual time, as `muster serve` does, over a template on each host and with the
// default limits on clones. A clone, a start and a stop take as long as the simulator's tasks do: 2 s each.
func wakeUp(t *testing.T, claims int) (*fleet, wave) {
	t.Helper()
	r := newRig(t)
	r.viewAge = time.Second
	r.cluster.TaskTime = 2 * time.Second
	r.spec.Template, r.spec.MaxClonesPerHost, r.spec.MaxClonesPerStorage = v1alpha1.ProxmoxTemplate{Tag: "golden"}, 4, 8
	r.spec.Placement.Strategy = v1alpha1.PlacementSpread
	r.spec.Placement.Overcommit = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10"), corev1.ResourceMemory: resource.MustParse("10")}
	rights := enough()
	for n, host := range []string{"pve1", "pve2", "pve3"} {
		r.cluster.Put(pvesim.VM{ID: templateID + n, Host: host, Template: true, Config: map[string]string{"tags": "golden", "cores": "2",
			"memory": "2048", "scsi0": "local-lvm:base-disk-0,size=10G", "smbios1": "uuid=00000000-0000-4000-8000-000000000000"}})
		rights[fmt.Sprintf("/vms/%d", templateID+n)] = []string{"VM.Audit", "VM.Clone"}
	}
	r.cluster.Allow(rights)
	f := &fleet{rig: r, p: r.provider(t), actors: make([]*actor, claims)}
	for n := range f.actors {
		f.actors[n] = newActor(n)
	}
	return f, f.until(t, func(a *actor) bool { return a.claim.Status.State == v1alpha1.ClaimReady })
}

// until takes all claims to where they are to be, and says what that cost.
func (f *fleet) until(t *testing.T, there func(*actor) bool) wave {
	t.Helper()
	began := f.now()
	for turn := 0; ; turn++ {
		require.Less(t, turn, 6000, "it does not come to an end")
		vms := map[string]pvesim.VM{}
		for _, vm := range f.cluster.VMs() {
			vms[vm.Config["smbios1"]] = vm
		}
		count := 0
		for _, a := range f.actors {
			a.kubelet(vms)
			if a.claim != nil {
				a.step(t, f.rig, f.p, false)
			}
			if there(a) {
				count++
			}
		}
		if count == len(f.actors) {
			break
		}
		f.advance(250 * time.Millisecond)
	}
	w := wave{took: f.now().Sub(began), calls: map[string]int{}}
	for _, request := range f.cluster.Requests() {
		method, path, _ := strings.Cut(request, " ")
		parts := strings.Split(path, "/")
		w.calls[method+" "+parts[len(parts)-1]]++
		w.all++
	}
	return w
}

// What a VM costs in requests must not grow with how many are made at once.
func TestRequestsPerVMDoNotGrow(t *testing.T) {
	t.Parallel()
	per := map[int]float64{}
	for _, n := range []int{1, 10, 100} {
		_, w := wakeUp(t, n)
		per[n] = float64(w.all) / float64(n)
		t.Logf("%d VMs: %s, %.1f requests each: %v", n, w.took, per[n], w.calls)
		require.Equal(t, n, w.calls["POST clone"])
		require.Equal(t, n, w.calls["POST start"])
	}
	require.LessOrEqual(t, per[10], per[1])
	require.LessOrEqual(t, per[100], per[1])
}

// A release asks the provider once more for each Delete, for the proof. What it costs must not grow with how many there are at once,
// and nothing is asked for twice that changes something.
func TestRequestsPerReleaseDoNotGrow(t *testing.T) {
	t.Parallel()
	for _, proves := range []bool{false, true} {
		per := map[int]float64{}
		for _, n := range []int{1, 10, 100} {
			f, _ := wakeUp(t, n)
			for _, a := range f.actors {
				a.proves, a.claim.DeletionTimestamp = proves, &metav1.Time{Time: f.now()}
			}
			w := f.until(t, func(a *actor) bool { return a.claim == nil })
			per[n] = float64(w.all) / float64(n)
			t.Logf("%d releases, through the gate %t: %s, %.1f requests each: %v", n, proves, w.took, per[n], w.calls)
			require.Equal(t, n, w.calls["POST stop"])
			require.Equal(t, 3, len(f.cluster.VMs()), "the templates")
		}
		require.LessOrEqual(t, per[10], per[1])
		require.LessOrEqual(t, per[100], per[1])
	}
}
