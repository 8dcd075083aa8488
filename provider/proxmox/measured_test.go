package proxmox_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// What PVE 9.2 was measured to do, beside what the tests of faults hold: one test for each line.

func TestWhatAStartMayEndWith(t *testing.T) {
	for name, c := range map[string]struct {
		exit string
		runs bool
	}{
		"a lock is waited for":                        {"can't lock file '/var/lock/qemu-server/lock-1005.conf' - got timeout", true},
		"warnings are success":                        {"WARNINGS: 1", false}, // nothing was started: the machine is failed, not forgotten
		"more cores than the host has":                {"MAX 2 vcpus allowed per VM on this node", false},
		"a bridge that is not there":                  {"bridge 'vmbr0' does not exist", false},
		"a volume that is not there":                  {"volume 'shared:snippets/none.yaml' does not exist", false},
		"it was made a template behind Muster's back": {"you can't start a vm if it's a template", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p, req := r.provider(t), request(1)
			r.cluster.Break(pvesim.Fault{Part: "/status/start", Message: c.exit})
			var m provider.Machine
			for range 20 {
				got, err := step(t, p, &req)
				if err == nil {
					m = got
				}
				if m.State == provider.StateRunning || m.State == provider.StateFailed {
					break
				}
				r.advance(15 * time.Second)
			}
			if c.runs {
				require.Equal(t, provider.StateRunning, m.State)
				return
			}
			require.Equal(t, provider.StateFailed, m.State)
			gone(t, r, always(p), m)
			require.Zero(t, r.count())
		})
	}
}

func TestAStartThatWasNotNeededIsNoFailure(t *testing.T) {
	r := newRig(t)
	p, req := r.provider(t), request(1)
	m := boot(t, r, always(p), &req)
	r.cluster.Change(mustNumber(t, m.ID), func(vm *pvesim.VM) { vm.Running = false })
	restarted := r.provider(t) // it knows of no start
	got, err := restarted.Create(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, provider.StateCreating, got.State)
	r.cluster.Change(mustNumber(t, m.ID), func(vm *pvesim.VM) { vm.Running = true }) // somebody was quicker: VM already running
	r.advance(time.Minute)
	got, err = restarted.Get(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, provider.StateRunning, got.State)
}

// The high-availability manager takes orders and carries them out later; what it manages is destroyed with purge only.
func TestAMachineUnderHighAvailabilityIsReleased(t *testing.T) {
	r := newRig(t)
	p, req := r.provider(t), request(1)
	m := boot(t, r, always(p), &req)
	r.cluster.Change(mustNumber(t, m.ID), func(vm *pvesim.VM) { vm.HA = true })
	for range 3 { // the task of the order ends at once, and the VM still runs
		require.NoError(t, p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())))
		r.advance(2 * time.Second)
		require.True(t, r.vm(t, m.ID).Running)
	}
	gone(t, r, always(p), m)
	require.Zero(t, r.count())
}

func TestAStartThatHighAvailabilityTookIsWaitedFor(t *testing.T) {
	r := newRig(t)
	p := always(r.provider(t))
	first := request(1)
	first.Keep = true
	m := boot(t, r, p, &first)
	gone(t, r, p, m)
	r.cluster.Change(mustNumber(t, m.ID), func(vm *pvesim.VM) { vm.HA = true })
	second := request(2)
	for range 40 {
		got, err := step(t, p(), &second)
		require.NoError(t, err)
		require.NotEqual(t, provider.StateFailed, got.State, "an order that was taken is no machine that stopped")
		if got.State == provider.StateRunning {
			require.Equal(t, m.ID, got.ID)
			return
		}
		r.advance(3 * time.Second)
	}
	require.Fail(t, "it does not come to run")
}

func TestAProtectedMachineIsRefused(t *testing.T) {
	r := newRig(t)
	p, req := r.provider(t), request(1)
	m := boot(t, r, always(p), &req)
	r.cluster.Change(mustNumber(t, m.ID), func(vm *pvesim.VM) { vm.Config["protection"] = "1" })
	require.NoError(t, p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())))
	r.advance(time.Minute)
	err := p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now()))
	require.ErrorIs(t, err, provider.ErrRefused)
	require.Contains(t, provider.HintOf(err), "--protection 0")
	require.Equal(t, 1, r.count())
}

func TestWhatARefusedConfigurationMeans(t *testing.T) {
	for name, c := range map[string]struct {
		fault pvesim.Fault
		kind  error
		hint  string
	}{
		"the datacenter keeps tokens from tagging": {pvesim.Fault{Status: 403, Message: "Permission check failed (/, Sys.Modify for modifying tag 'muster')"},
			provider.ErrMisconfigured, "user-tag-access"},
		"somebody else changed the VM":        {pvesim.Fault{Status: 500, Message: "checksum mismatch (file change by other user?)"}, provider.ErrBusy, ""},
		"no quorum, as a write says it":       {pvesim.Fault{Status: 500, Message: "unable to open file '/etc/pve/nodes/pve1/qemu-server/1.conf.tmp.1' - Permission denied"}, provider.ErrBusy, "quorum"},
		"a key that ssh-keygen does not take": {pvesim.Fault{Status: 400, Message: "Parameter verification failed."}, provider.ErrRefused, "spec.proxmox"},
		"a lock of a backup":                  {pvesim.Fault{Status: 500, Message: "VM is locked (backup)"}, provider.ErrBusy, "qm unlock"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p, req := reserved(t, r)
			_, err := p.Create(t.Context(), req)
			require.NoError(t, err)
			r.advance(time.Minute)
			times := 1
			if errors.Is(c.kind, provider.ErrBusy) {
				times = 3 // it is tried that often
			}
			for range times {
				f := c.fault
				f.Method, f.Part = "PUT", "/config"
				r.cluster.Break(f)
			}
			_, err = p.Create(t.Context(), req)
			require.ErrorIs(t, err, c.kind)
			require.Contains(t, provider.HintOf(err), c.hint)
			m := boot(t, r, always(p), &req) // and when it is put right it goes on
			require.Equal(t, provider.StateRunning, m.State)
		})
	}
}

// A task lives on the host that runs it: while that is away nobody knows how the task stands.
func TestATaskWhoseHostIsAwayIsNotLost(t *testing.T) {
	r := newRig(t)
	p, req := reserved(t, r)
	_, err := p.Create(t.Context(), req)
	require.NoError(t, err)
	r.cluster.Online("pve1", false) // the template's: it runs the clone
	_, err = p.Get(t.Context(), provider.Machine{ID: req.ID, ClaimUID: req.ClaimUID})
	require.Error(t, err)
	require.NotErrorIs(t, err, provider.ErrNotFound)
	_, err = p.Create(t.Context(), req)
	require.Error(t, err)
	r.advance(time.Minute)
	r.cluster.Online("pve1", true)
	boot(t, r, always(p), &req)
	require.Equal(t, 1, r.count(), "the clone that went on meanwhile")
}

// A clone that died leaves its lock for ever: nobody but an operator can tell that nothing works on it any more.
func TestALockThatACrashLeftIsTheOperators(t *testing.T) {
	r := newRig(t)
	p, req := reserved(t, r)
	r.cluster.Put(pvesim.VM{ID: mustNumber(t, req.ID), Host: "pve1", Pool: pool, Config: map[string]string{"lock": "clone", "description": "qmclone temporary file\n"}})
	r.advance(time.Minute)
	m := provider.Machine{ID: req.ID, ClaimUID: req.ClaimUID, Claim: req.Claim, Attempt: 1}
	_, err := p.Get(t.Context(), m)
	require.ErrorIs(t, err, provider.ErrUnknown)
	require.Contains(t, provider.HintOf(err), "qm unlock "+string(req.ID))
	require.ErrorIs(t, p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())), provider.ErrUnknown)
	require.Equal(t, 1, r.count())
}

// Listings lag: a VM that was just made has neither name nor status there, a dead host's VMs and storages are as they were.
func TestListingsThatLagProveNothing(t *testing.T) {
	r := newRig(t)
	r.spec.Placement.Hosts = []string{"pve2"}
	p, req := r.provider(t), request(1)
	m := provider.Machine{}
	for range 40 { // all within the ten seconds before the listings learn of it
		var err error
		m, err = step(t, p, &req)
		require.NoError(t, err)
		list, err := p.List(t.Context())
		require.NoError(t, err)
		if m.State == provider.StateRunning {
			require.Len(t, list, 1)
			require.Equal(t, req.ClaimUID, list[0].ClaimUID)
			break
		}
		r.advance(500 * time.Millisecond)
	}
	require.Equal(t, provider.StateRunning, m.State)
	require.Less(t, r.now().Sub(epoch), 10*time.Second)
	r.advance(time.Minute)
	r.cluster.Online("pve2", false)
	list, err := p.List(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1, "the VM of a dead host is still there")
	next := request(2)
	_, err = step(t, p, &next)
	require.NoError(t, err)
	_, err = step(t, p, &next)
	require.ErrorIs(t, err, provider.ErrNoCapacity, "its storages look available, its host is not")
	require.ErrorContains(t, err, "pve2: offline")
}

// A host that is away takes along what is on it, and nothing else: neither kept machines nor ones that were being made there
// keep others from being made, also after a restart.
func TestAHostThatIsAwayStopsNobodyElse(t *testing.T) {
	r := newRig(t)
	r.spec.Placement.Hosts = []string{"pve2"}
	p := always(r.provider(t))
	kept := request(1)
	kept.Keep = true
	gone(t, r, p, boot(t, r, p, &kept))
	r.cluster.Put(pvesim.VM{ID: 1700, Host: "pve2", Pool: pool, Config: map[string]string{"lock": "clone", "description": "qmclone temporary file\n"}})
	r.advance(time.Minute)
	r.cluster.Online("pve2", false)
	r.spec.Placement.Hosts = []string{"pve1", "pve3"}
	next := request(2)
	m := boot(t, r, always(r.provider(t)), &next)
	require.NotEqual(t, "pve2", m.Host)
}

// Answers come compressed above 1 KiB, and errors end the connection; the messages of PVE before 8.3 are in the reason phrase.
func TestAnswersAreReadAsTheyCome(t *testing.T) {
	r := newRig(t)
	seen := map[string]bool{}
	inner := r.server.Config.Handler
	r.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := httptest.NewRecorder()
		inner.ServeHTTP(rec, req)
		seen[rec.Header().Get("Content-Encoding")] = true
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
	p, req := r.provider(t), request(1)
	m := boot(t, r, always(p), &req)
	gone(t, r, always(p), m)
	require.True(t, seen["gzip"] && seen[""], "both kinds of answers")

	old := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_, _ = c.Write([]byte("HTTP/1.1 500 cluster not ready - no quorum?\r\nContent-Length: 13\r\nConnection: close\r\n\r\n{\"data\":null}"))
			_ = c.Close()
		}
	}))
	old.StartTLS()
	t.Cleanup(old.Close)
	transport, err := dial.Transport(&v1alpha1.TLS{Fingerprint: dial.Fingerprint(old.Certificate())})
	require.NoError(t, err)
	t.Cleanup(transport.CloseIdleConnections)
	r.server, r.wire.Base = old, transport
	_, err = r.provider(t).List(t.Context())
	require.ErrorIs(t, err, provider.ErrBusy)
	require.ErrorContains(t, err, "no quorum")
}

// The self-test of the simulator: it refuses what pveproxy refuses, so that a client which passes it sends nothing else.
func TestTheSimulatorRefusesWhatPveproxyRefuses(t *testing.T) {
	r := newRig(t)
	client := r.server.Client()
	call := func(method, path, kind, body string, chunked bool) int {
		req, err := http.NewRequestWithContext(t.Context(), method, r.server.URL+"/api2/json"+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "PVEAPIToken="+tokenID+"="+canary)
		req.Header.Set("Content-Type", kind)
		if chunked {
			req.ContentLength = -1
		}
		resp, err := client.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	require.Equal(t, 501, call("POST", "/nodes/pve1/qemu/9000/clone", "application/json", `{"newid":1001}`, true), "chunked")
	require.Equal(t, 501, call("GET", "/nosuch", "", "", false), "unknown path")
	require.Equal(t, 500, call("GET", "/nodes/nosuch/qemu/9000/config", "", "", false), "unknown host")
	require.Equal(t, 400, call("POST", "/nodes/pve1/qemu/9000/clone", "application/json", `{"newid":1001,"full":"true"}`, false), "full=true")
	require.Equal(t, 400, call("POST", "/nodes/pve1/qemu/9000/clone", "application/json", `{"newid":1001,"nosuch":1}`, false), "unknown parameter")
	require.Equal(t, 400, call("POST", "/nodes/pve1/qemu/9000/clone", "application/json", `{}`, false), "missing parameter")
	require.Equal(t, 403, call("GET", "/nodes/pve1/qemu/4711/config", "", "", false), "a VM that is not there, for a narrow token")
}
