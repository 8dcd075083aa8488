package proxmox_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/gate"
	"github.com/muster-sh/muster/provider/gate/gatetest"
	"github.com/muster-sh/muster/provider/proxmox"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// runs is a machine that runs, and what is known of it.
func runs(t *testing.T, r *rig, change func(*pvesim.VM)) (*proxmox.Provider, provider.Request, provider.Machine) {
	t.Helper()
	p, req := r.provider(t), request(1)
	m := boot(t, r, always(p), &req)
	if change != nil {
		r.cluster.Change(mustNumber(t, m.ID), change)
	}
	r.cluster.Requests()
	return p, req, m
}

func numberOf(m provider.Machine) int {
	n, _ := strconv.Atoi(string(m.ID)) // where it is none, no VM has it
	return n
}

func deaf(vm *pvesim.VM) { vm.Deaf = true }

// halt stops a machine as a claim does, and says how long that took.
func halt(t *testing.T, r *rig, p func() *proxmox.Provider, m provider.Machine) time.Duration {
	t.Helper()
	began := r.now()
	for r.now().Sub(began) < 10*time.Minute {
		got, err := p().Stop(t.Context(), m, gatetest.Judge(gate.Stop, m, r.now()))
		if err == nil && got.State == provider.StatePending {
			return r.now().Sub(began)
		}
		if err == nil {
			require.Equal(t, provider.StateCreating, got.State)
		}
		r.advance(2 * time.Second)
	}
	require.Fail(t, "it does not stop")
	return 0
}

// ordered are the requests that switched something, by the end of their path.
func (r *rig) ordered() (orders []string) {
	for _, request := range r.cluster.Requests() {
		if method, path, _ := strings.Cut(request, " "); method == "POST" {
			orders = append(orders, path[strings.LastIndex(path, "/")+1:])
		}
	}
	return orders
}

func TestTheGuestIsAskedBeforeThePowerIsTaken(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*pvesim.VM)
		timeout   *metav1.Duration
		orders    []string
		shutdowns int
		least     time.Duration
		most      time.Duration
	}{
		"a guest that listens shuts down":                   {nil, nil, []string{"shutdown"}, 1, 0, 10 * time.Second},
		"one that hangs has the time that Proxmox VE gives": {deaf, nil, []string{"shutdown"}, 0, 3 * time.Minute, 3*time.Minute + 10*time.Second},
		"or that the operator gives":                        {deaf, &metav1.Duration{Duration: 20 * time.Second}, []string{"shutdown"}, 0, 20 * time.Second, 30 * time.Second},
		"none at all":                                       {nil, &metav1.Duration{}, []string{"stop"}, 0, 0, 10 * time.Second},
		"the high-availability manager has it shut down too": {func(vm *pvesim.VM) { vm.HA = true }, nil, []string{"shutdown"}, 1, 10 * time.Second,
			30 * time.Second},
		"and takes the power away": {func(vm *pvesim.VM) { vm.HA, vm.Deaf = true, true }, nil, []string{"shutdown"}, 0, 3 * time.Minute,
			3*time.Minute + 30*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.spec.ShutdownTimeout = c.timeout
			p, req, m := runs(t, r, c.change)
			took := halt(t, r, always(p), m)
			require.GreaterOrEqual(t, took, c.least)
			require.LessOrEqual(t, took, c.most)
			require.Equal(t, c.orders, r.ordered())
			vm := r.vm(t, m.ID)
			require.Equal(t, []int{1, c.shutdowns}, []int{vm.Stops, vm.Shutdowns})
			require.Equal(t, m, boot(t, r, always(p), &req), "and it starts again")
		})
	}
}

// Whatever becomes of a shutdown, the machine goes off or the claim is told that it did not.
func TestAShutdownThatCameToNothing(t *testing.T) {
	for name, c := range map[string]struct {
		fault     pvesim.Fault
		orders    []string
		shutdowns int
	}{
		"the task says OK and the machine runs":     {pvesim.Fault{Part: "/status/shutdown", Message: "OK"}, []string{"shutdown", "stop"}, 0},
		"the task failed":                           {pvesim.Fault{Part: "/status/shutdown", Message: "VM quit/powerdown failed"}, []string{"shutdown", "stop"}, 0},
		"a lock stood in the way of the task":       {pvesim.Fault{Part: "/status/shutdown", Message: "can't lock file 'x' - got timeout"}, []string{"shutdown", "shutdown"}, 1},
		"a success with nothing done":               {pvesim.Fault{Part: "/status/shutdown", Status: 200}, []string{"shutdown", "shutdown"}, 1},
		"an answer that is lost, the order was not": {pvesim.Fault{Part: "/status/shutdown", Status: 596, Done: true}, []string{"shutdown"}, 1},
		"nobody knows what is under way":            {pvesim.Fault{Part: "/tasks", Status: 596}, []string{"shutdown"}, 1},
		"somebody may not ask what is under way":    {pvesim.Fault{Part: "/tasks", Status: 403, Message: "Permission check failed"}, []string{"shutdown"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p, req, m := runs(t, r, nil)
			r.cluster.Break(c.fault)
			halt(t, r, always(p), m)
			require.Equal(t, c.orders, r.ordered())
			vm := r.vm(t, m.ID)
			require.Equal(t, []int{1, c.shutdowns}, []int{vm.Stops, vm.Shutdowns})
			require.Equal(t, m, boot(t, r, always(p), &req))
		})
	}
}

// A machine that no order helps stays what it is: not off.
func TestAMachineThatStaysOnIsNotCalledOff(t *testing.T) {
	r := newRig(t)
	p, _, m := runs(t, r, nil)
	for range 40 {
		r.cluster.Mend()
		r.cluster.Break(pvesim.Fault{Method: "POST", Part: "/status/", Message: "OK"})
		got, err := p.Stop(t.Context(), m, gatetest.Judge(gate.Stop, m, r.now()))
		require.NoError(t, err)
		require.Equal(t, provider.StateCreating, got.State)
		r.advance(5 * time.Second)
	}
	require.Equal(t, "shutdown", r.ordered()[0])
	require.True(t, r.vm(t, m.ID).Running)
}

// A Muster that starts while a machine shuts down asks nothing again: a second order waits behind the first one, and would take
// away the power of a machine that was started since.
func TestAShutdownOfAMusterThatWasKilledIsWaitedFor(t *testing.T) {
	for name, change := range map[string]func(*pvesim.VM){"a guest that listens": nil, "one that hangs": deaf} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			_, req, m := runs(t, r, change)
			fresh := func() *proxmox.Provider { return r.provider(t) }
			halt(t, r, fresh, m)
			require.Equal(t, []string{"shutdown"}, r.ordered())
			require.Equal(t, m, boot(t, r, fresh, &req))
			r.advance(time.Hour)
			vm := r.vm(t, m.ID)
			require.True(t, vm.Running, "nothing struck it later")
			require.Equal(t, []int{1, 2}, []int{vm.Stops, vm.Starts})
		})
	}
}

// A start that is under way, whoever asked for it, is waited for.
func TestAMachineThatIsBeingStartedIsNotStopped(t *testing.T) {
	r := newRig(t)
	p, req, m := runs(t, r, nil)
	halt(t, r, always(p), m)
	_, err := p.Create(t.Context(), req)
	require.NoError(t, err)
	for _, who := range []*proxmox.Provider{p, r.provider(t)} {
		_, err = who.Stop(t.Context(), m, gatetest.Judge(gate.Stop, m, r.now()))
		require.ErrorIs(t, err, provider.ErrBusy)
	}
	require.Equal(t, m, boot(t, r, always(p), &req))
}

// What is kept is used again, what is destroyed is not.
func TestOnlyAMachineThatIsKeptIsShutDownWhenItIsGivenBack(t *testing.T) {
	for _, keep := range []bool{true, false} {
		r := newRig(t)
		p, req := r.provider(t), request(1)
		req.Keep = keep
		m := boot(t, r, always(p), &req)
		r.cluster.Requests()
		gone(t, r, always(p), m)
		require.Equal(t, keep, slices.Contains(r.ordered(), "shutdown"))
	}
}

// Listings leave out what the token may not see. That a machine was there, and its number is in use, is no absence.
func TestAMachineThatNoListingHasIsNotGone(t *testing.T) {
	for name, c := range map[string]struct{ hide, show func(*rig, provider.Machine) }{
		"a listing that is wrong": {
			func(r *rig, m provider.Machine) {
				r.cluster.Change(numberOf(m), func(vm *pvesim.VM) { vm.Hidden = true })
			},
			func(r *rig, m provider.Machine) {
				r.cluster.Change(numberOf(m), func(vm *pvesim.VM) { vm.Hidden = false })
			},
		},
		"a token that lost its right a moment ago": {
			func(r *rig, _ provider.Machine) {
				rights := enough()
				rights["/pool/"+pool] = []string{"VM.Allocate", "VM.PowerMgmt"}
				r.cluster.Allow(rights)
			},
			func(r *rig, _ provider.Machine) { r.cluster.Allow(enough()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.viewAge = time.Second // as in serve: permissions are read every 30 s
			p, req, m := runs(t, r, nil)
			r.advance(2 * time.Second)
			c.hide(r, m)
			for range 3 {
				_, err := p.Stop(t.Context(), m, gatetest.Judge(gate.Stop, m, r.now()))
				require.ErrorIs(t, err, provider.ErrUnknown)
				require.NotErrorIs(t, err, provider.ErrNotFound)
				_, err = p.Get(t.Context(), m)
				require.ErrorIs(t, err, provider.ErrUnknown)
				require.ErrorIs(t, p.Delete(t.Context(), m, gatetest.Judge(gate.Delete, m, r.now())), provider.ErrUnknown)
				r.advance(2 * time.Second)
			}
			require.Empty(t, r.ordered())
			c.show(r, m)
			r.advance(2 * time.Second)
			halt(t, r, always(p), m)
			require.Equal(t, m, boot(t, r, always(p), &req))
		})
	}
}

// A token that may not switch the machine any more is the operator's, and nothing is begun.
func TestATokenThatLosesTheRightToSwitch(t *testing.T) {
	r := newRig(t)
	p, _, m := runs(t, r, nil)
	r.without("/pool/"+pool, "VM.PowerMgmt")
	_, err := p.Stop(t.Context(), m, gatetest.Judge(gate.Stop, m, r.now()))
	require.ErrorIs(t, err, provider.ErrMisconfigured)
	r.cluster.Allow(enough())
	halt(t, r, always(p), m)
}
