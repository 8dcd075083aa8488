package proxmox_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// reserved is a request whose number is written down.
func reserved(t *testing.T, r *rig) (*proxmox.Provider, provider.Request) {
	t.Helper()
	req, p := request(1), r.provider(t)
	_, err := step(t, p, &req)
	require.NoError(t, err)
	return p, req
}

func TestWhatAnAnswerToACloneMeans(t *testing.T) {
	for name, c := range map[string]struct {
		fault pvesim.Fault
		kind  error
		vms   int
	}{
		"595 was never carried out":              {pvesim.Fault{Status: 595}, provider.ErrBusy, 0},
		"596 may have been, and was":             {pvesim.Fault{Status: 596, Done: true}, provider.ErrUnknown, 1},
		"596 may have been, and was not":         {pvesim.Fault{Status: 596}, provider.ErrUnknown, 0},
		"599 is unknown":                         {pvesim.Fault{Status: 599}, provider.ErrUnknown, 0},
		"502 is unknown":                         {pvesim.Fault{Status: 502}, provider.ErrUnknown, 0},
		"404 is no success":                      {pvesim.Fault{Status: 404}, provider.ErrUnknown, 0},
		"409 is no success":                      {pvesim.Fault{Status: 409}, provider.ErrUnknown, 0},
		"403 names the permission":               {pvesim.Fault{Status: 403, Message: "Permission check failed (/vms/9000, VM.Clone)"}, provider.ErrMisconfigured, 0},
		"400 is refused":                         {pvesim.Fault{Status: 400, Message: "Parameter verification failed."}, provider.ErrRefused, 0},
		"no quorum is waited for":                {pvesim.Fault{Status: 500, Message: "cluster not ready - no quorum?"}, provider.ErrBusy, 0},
		"a full disk is no capacity":             {pvesim.Fault{Status: 500, Message: "clone failed: unable to create image: No space"}, provider.ErrNoCapacity, 0},
		"local storage is the operator's":        {pvesim.Fault{Status: 500, Message: "can't clone VM to node 'pve3' (VM uses local storage)"}, provider.ErrMisconfigured, 0},
		"a text that nobody has seen is unknown": {pvesim.Fault{Status: 500, Message: "something else"}, provider.ErrUnknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p, req := reserved(t, r)
			for range 3 { // what a lock stood in the way of is tried again
				c.fault.Part = "/clone"
				r.cluster.Break(c.fault)
			}
			_, err := p.Create(t.Context(), req)
			require.ErrorIs(t, err, c.kind)
			if c.fault.Message != "" {
				require.ErrorContains(t, err, c.fault.Message)
			}
			require.Equal(t, c.vms, r.count())
		})
	}
}

// A clone whose answer was lost is known by what it has made: nobody waits until it can no longer begin.
func TestALostCloneIsSeenWhenItIsDone(t *testing.T) {
	r := newRig(t)
	p, req := reserved(t, r)
	r.cluster.Break(pvesim.Fault{Method: "POST", Part: "/clone", Status: 596, Done: true})
	_, err := step(t, p, &req)
	require.ErrorIs(t, err, provider.ErrUnknown)
	for range 10 {
		r.advance(time.Second)
		if m, err := step(t, p, &req); err == nil && m.State == provider.StateRunning {
			require.Equal(t, 1, r.count())
			return
		}
	}
	require.Fail(t, "it does not run after ten seconds")
}

func TestALockIsWaitedFor(t *testing.T) {
	r := newRig(t)
	p, req := reserved(t, r)
	r.cluster.Break(pvesim.Fault{Part: "/clone", Status: 500, Message: "can't lock file '/var/lock/qemu-server/lock-9000.conf' - got timeout"})
	m, err := p.Create(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, provider.StateCreating, m.State)
}

func TestHowATaskEndedCounts(t *testing.T) {
	for name, c := range map[string]struct {
		exit string
		kind error
	}{
		"the loser of two clones to one number is a failure": {"clone failed: unable to create VM 1005: config file already exists", provider.ErrUnknown},
		"and of two on different hosts":                      {"close (rename) atomic file '/etc/pve/nodes/pve1/qemu-server/110.conf' failed: File exists", provider.ErrUnknown},
		"a full disk is no capacity":                         {"clone failed: unable to create image: No space left on device", provider.ErrNoCapacity},
		"an unexpected status is a failure":                  {"unexpected status", provider.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p, req := reserved(t, r)
			r.cluster.Break(pvesim.Fault{Part: "/clone", Message: c.exit})
			_, err := p.Create(t.Context(), req)
			require.NoError(t, err, "the task was accepted")
			r.advance(time.Minute)
			_, err = p.Create(t.Context(), req)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.exit)
			require.Zero(t, r.count(), "Proxmox VE cleans up after a clone that failed")
		})
	}
}

func TestAStartThatFailsFailsTheMachine(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	req := request(1)
	r.cluster.Break(pvesim.Fault{Part: "/status/start", Message: "bridge 'vmbr9' does not exist"})
	var m provider.Machine
	for range 12 {
		var err error
		m, err = step(t, p, &req)
		require.NoError(t, err)
		if m.State == provider.StateFailed {
			break
		}
		r.advance(15 * time.Second)
	}
	require.Equal(t, provider.StateFailed, m.State)
	require.Contains(t, m.Message, "vmbr9")
	gone(t, r, always(p), m)
	require.Zero(t, r.count())
}

func TestAHostThatIsOffline(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	req := request(1)
	m := boot(t, r, always(p), &req)
	r.cluster.Online(m.Host, false)
	err := p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now()))
	require.Error(t, err)
	require.NotErrorIs(t, err, provider.ErrNotFound, "a delete that reached nobody has done nothing")
	_, err = p.Get(t.Context(), m)
	require.NotErrorIs(t, err, provider.ErrNotFound)
	require.Equal(t, 1, r.count())
	r.cluster.Online(m.Host, true)
	gone(t, r, always(p), m)
	require.Zero(t, r.count())
}

func TestNoMachineIsMadeOnAHostThatIsOffline(t *testing.T) {
	r := newRig(t)
	r.cluster.Online("pve2", false)
	r.spec.Placement.Strategy = v1alpha1.PlacementSpread
	p := r.provider(t)
	hosts := map[string]int{}
	for n := range 6 {
		req := request(n)
		hosts[boot(t, r, always(p), &req).Host]++
	}
	require.Equal(t, map[string]int{"pve1": 3, "pve3": 3}, hosts, "a clone to an offline host would be accepted")
}

// A template on each host: the one on a host that is away stands in nobody's way.
func TestATemplateOnAHostThatIsOfflineStopsNobody(t *testing.T) {
	r := newRig(t)
	r.spec.Template, r.spec.Placement.Strategy = v1alpha1.ProxmoxTemplate{Tag: "golden"}, v1alpha1.PlacementSpread
	local := map[string]string{"tags": "golden", "cores": "2", "memory": "2048", "scsi0": "local-lvm:base-disk-0,size=10G",
		"smbios1": "uuid=00000000-0000-4000-8000-000000000000"}
	rights := enough()
	for n, host := range []string{"pve1", "pve2", "pve3"} {
		r.cluster.Put(pvesim.VM{ID: templateID + n, Host: host, Template: true, Config: local})
		rights[fmt.Sprintf("/vms/%d", templateID+n)] = []string{"VM.Audit", "VM.Clone"}
	}
	r.cluster.Allow(rights)
	r.cluster.Online("pve1", false)
	p := r.provider(t)
	hosts := map[string]int{}
	for n := range 4 {
		req := request(n)
		hosts[boot(t, r, always(p), &req).Host]++
	}
	require.Equal(t, map[string]int{"pve2": 2, "pve3": 2}, hosts)
	r.cluster.Online("pve2", false)
	r.cluster.Online("pve3", false)
	req := request(5)
	_, err := step(t, p, &req)
	require.NoError(t, err, "a number can be had")
	_, err = step(t, p, &req)
	require.ErrorIs(t, err, provider.ErrBusy, "no host can be reached now, and that is nothing that an operator has set up wrongly")
}

func TestWithoutQuorumNothingIsTakenForDone(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	req := request(1)
	m := boot(t, r, always(p), &req)
	r.cluster.Quorum(false)
	for range 6 {
		err := p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now()))
		require.NotErrorIs(t, err, provider.ErrNotFound)
		r.advance(15 * time.Second)
	}
	require.Equal(t, 1, r.count())
	r.cluster.Quorum(true)
	gone(t, r, always(p), m)
	require.Zero(t, r.count())
}

func TestClonesAreLimited(t *testing.T) {
	r := newRig(t)
	r.spec.MaxClonesPerHost = 2
	p := r.provider(t)
	accepted, busy := 0, 0
	for n := range 5 {
		req := request(n)
		_, err := step(t, p, &req)
		require.NoError(t, err)
		if _, err = step(t, p, &req); err == nil {
			accepted++
			continue
		}
		require.ErrorIs(t, err, provider.ErrBusy)
		busy++
	}
	require.Equal(t, [2]int{2, 3}, [2]int{accepted, busy})
	r.advance(time.Minute)
	req := request(0)
	boot(t, r, always(p), &req)
}

func TestMachinesInFlightTakeRoom(t *testing.T) {
	r := newRig(t)
	r.spec.Placement.Hosts = []string{"pve2"}
	p := r.provider(t)
	made := 0
	for n := range 3 {
		req := request(n)
		req.Resources[corev1.ResourceCPU] = resource.MustParse("30")
		_, err := step(t, p, &req)
		require.NoError(t, err)
		if _, err = step(t, p, &req); err != nil {
			require.ErrorIs(t, err, provider.ErrNoCapacity)
			require.ErrorContains(t, err, "pve2: 4 cores left of 30 needed")
			continue
		}
		made++
	}
	require.Equal(t, 2, made)
}

func TestATemplateThatIsNotThereIsTheOperators(t *testing.T) {
	r := newRig(t)
	r.spec.Template = v1alpha1.ProxmoxTemplate{Tag: "nosuch"}
	p, req := reserved(t, r)
	_, err := p.Create(t.Context(), req)
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.ErrorContains(t, err, "no template has tag nosuch")
	r.spec.Template = v1alpha1.ProxmoxTemplate{Tag: "golden"}
	boot(t, r, always(r.provider(t)), &req)
}

func TestABadTokenIsTheOperators(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	r.cluster.Token(tokenID, "changed")
	_, err := p.List(t.Context())
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	require.NotContains(t, err.Error(), canary)
}

func TestAnUntrustedServerIsNotTalkedTo(t *testing.T) {
	r := newRig(t)
	transport, err := dial.Transport(nil)
	require.NoError(t, err)
	t.Cleanup(transport.CloseIdleConnections)
	r.wire.Base = transport
	_, err = r.provider(t).List(t.Context())
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.Contains(t, provider.HintOf(err), "caBundle")
	require.Empty(t, r.cluster.Requests(), "no token was sent")
}

func TestCheckSaysWhatIsMissing(t *testing.T) {
	levels := func(p provider.Provider) (text string, bad int) {
		for _, f := range p.Check(t.Context()) {
			text += f.Subject + ": " + f.Message + " " + f.Hint + "\n"
			if f.Level == provider.LevelError {
				bad++
			}
		}
		return text, bad
	}
	r := newRig(t)
	text, bad := levels(r.provider(t))
	require.Zero(t, bad, text)
	for _, want := range []string{"Proxmox VE 9.2.4", "template 9000: on host pve1", "permissions on /pool/muster: complete", "host pve3", "1000 free"} {
		require.Contains(t, text, want)
	}
	rights := enough()
	rights["/pool/"+pool] = []string{"VM.Audit", "VM.PowerMgmt"}
	delete(rights, "/nodes")
	r.cluster.Allow(rights)
	r.cluster.Online("pve2", false)
	text, bad = levels(r.provider(t))
	require.Positive(t, bad)
	require.Contains(t, text, "missing VM.Allocate VM.Config.CPU")
	require.Contains(t, text, "pveum acl modify /pool/muster")
	require.Contains(t, text, "Sys.Audit")
}

func TestAMachineThatStoppedIsFailed(t *testing.T) {
	r := newRig(t)
	p := r.provider(t)
	req := request(1)
	m := boot(t, r, always(p), &req)
	r.cluster.Change(mustNumber(t, m.ID), func(vm *pvesim.VM) { vm.Running = false })
	r.advance(time.Minute)
	got, err := p.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateFailed, got.State)
}

func TestARangeThatIsFull(t *testing.T) {
	r := newRig(t)
	r.spec.VMIDs = v1alpha1.VMIDRange{Min: 1000, Max: 1001}
	p := r.provider(t)
	for n := range 2 {
		req := request(n)
		_, err := step(t, p, &req)
		require.NoError(t, err)
	}
	req := request(2)
	_, err := step(t, p, &req)
	require.ErrorIs(t, err, provider.ErrNoCapacity)
	require.Contains(t, provider.HintOf(err), "vmids")
}

func mustNumber(t *testing.T, id provider.ID) int {
	t.Helper()
	n, err := strconv.Atoi(string(id))
	require.NoError(t, err)
	return n
}
