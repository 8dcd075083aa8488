package proxmox_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-sh/muster/capacity/control/controltest"
	"github.com/muster-sh/muster/provider/providertest"
	"github.com/muster-sh/muster/provider/proxmox/pvesim"
)

// trouble befalls a rig once its machine's node is silent; what it returns ends it a minute later.
type trouble func(*rig) (end func())

// once are faults that hit one request each.
func once(faults ...pvesim.Fault) trouble {
	return func(r *rig) func() {
		for _, f := range faults {
			r.cluster.Break(f)
		}
		return nil
	}
}

// constant is a state of things that does not end, and lasting one that does.
func constant(how func(*pvesim.VM)) trouble { return func(r *rig) func() { r.each(how); return nil } }

func lasting(how func(r *rig, on bool)) trouble {
	return func(r *rig) func() {
		how(r, true)
		return func() { how(r, false) }
	}
}

// underFate is a rig whose requests may be the last ones of a Muster.
func underFate(t *testing.T, f *controltest.Fate, befalls trouble) controltest.Backend {
	r := newRig(t)
	r.viewAge = time.Second
	r.spec.ShutdownTimeout = &metav1.Duration{Duration: 20 * time.Second}
	r.wire.Base, r.wire.Gate = providertest.Direct{Handler: r.cluster}, f.Request
	var end func()
	var ends time.Time
	return controltest.Backend{
		Provider: "px", Now: r.now, Power: r.power,
		Start: func() controltest.Process { return controltest.Process{Provider: r.provider(t)} },
		Trouble: func() {
			if befalls != nil {
				end, ends = befalls(r), r.now().Add(time.Minute)
			}
		},
		Advance: func(d time.Duration) {
			if r.advance(d); end != nil && !r.now().Before(ends) {
				end()
				end = nil
			}
		},
	}
}

// power is what all the machines went through.
func (r *rig) power() (p controltest.Power) {
	for _, vm := range r.cluster.VMs() {
		if !vm.Template {
			p = controltest.Power{On: p.On || vm.Running, Ons: p.Ons + vm.Starts, Offs: p.Offs + vm.Stops}
		}
	}
	return p
}

// each changes all the machines.
func (r *rig) each(how func(*pvesim.VM)) {
	for _, vm := range r.cluster.VMs() {
		if !vm.Template {
			r.cluster.Change(vm.ID, how)
		}
	}
}

// blind has the token see no machine.
func (r *rig) blind(on bool) {
	if r.cluster.Allow(enough()); on {
		r.without("/pool/"+pool, "VM.Audit")
	}
}

// A silent node is restarted once, wherever in between Muster is killed.
func TestMusterKilledInARestart(t *testing.T) {
	t.Parallel()
	for name, befalls := range map[string]trouble{"of a guest that listens": nil, "of a guest that hangs": constant(deaf)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			controltest.Restarts(t, func(t *testing.T, f *controltest.Fate) controltest.Backend { return underFate(t, f, befalls) })
		})
	}
}

// A Proxmox VE that lies, or does not say, brings no second restart and no replacement, and no restart is lost on it.
func TestARestartOverAClusterThatLies(t *testing.T) {
	t.Parallel()
	for name, befalls := range map[string]trouble{
		"a shutdown says OK and the machine runs":       once(pvesim.Fault{Part: "/status/shutdown", Message: "OK"}),
		"so does the stop after it":                     once(pvesim.Fault{Part: "/status/shutdown", Message: "OK"}, pvesim.Fault{Part: "/status/stop", Message: "OK"}),
		"a shutdown is a success, and nothing was done": once(pvesim.Fault{Part: "/status/shutdown", Status: 200}),
		"a start is a success, and nothing was done":    once(pvesim.Fault{Part: "/status/start", Status: 200}),
		"the answer to a shutdown is lost":              once(pvesim.Fault{Part: "/status/shutdown", Status: 596, Done: true}),
		"the answer to a start is lost":                 once(pvesim.Fault{Part: "/status/start", Status: 596, Done: true}),
		"a lock stands in the way":                      once(pvesim.Fault{Part: "/status/shutdown", Message: "can't lock file 'x' - got timeout"}),
		"the order to start dies of a lock":             once(pvesim.Fault{Part: "/status/start", Message: "can't lock file 'x' - got timeout"}),
		"nobody knows how a task stands":                once(pvesim.Fault{Part: "/tasks/UPID", Status: 596}, pvesim.Fault{Part: "/tasks/UPID", Status: 400, Message: "no such task", Field: "upid"}),
		"the high-availability manager has the machine": constant(func(vm *pvesim.VM) { vm.HA = true }),
		"a listing leaves the machine out for a minute": lasting(func(r *rig, on bool) { r.each(func(vm *pvesim.VM) { vm.Hidden = on }) }),
		"the token sees no machine for a minute":        lasting(func(r *rig, on bool) { r.blind(on) }),
		"its host is away for a minute":                 lasting(func(r *rig, on bool) { r.cluster.Online("pve1", !on) }),
		"the cluster has no quorum for a minute":        lasting(func(r *rig, on bool) { r.cluster.Quorum(!on) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, deed := range []int{0, 4, 8} {
				controltest.Restart(t, deed, func(t *testing.T, f *controltest.Fate) controltest.Backend { return underFate(t, f, befalls) })
			}
		})
	}
}
