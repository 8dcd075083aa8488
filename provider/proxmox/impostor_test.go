package proxmox_test

import (
	"fmt"
	"maps"
	"regexp"
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

// ready is a machine at the point where the next call of a verb changes something, and that call.
type ready struct {
	p   *proxmox.Provider
	req provider.Request
	m   provider.Machine
	// act is the call. Its proof, where it takes one, is about id.
	act func(id gate.Identity) error
}

func (d *ready) delete(t *testing.T, r *rig) func(gate.Identity) error {
	return func(id gate.Identity) error {
		return d.p.Delete(t.Context(), d.m, gatetest.Proof(t, gate.Delete, d.m.Subject(), id, r.now()))
	}
}

func (d *ready) stop(t *testing.T, r *rig) func(gate.Identity) error {
	return func(id gate.Identity) error {
		_, err := d.p.Stop(t.Context(), d.m, gatetest.Proof(t, gate.Stop, d.m.Subject(), id, r.now()))
		return err
	}
}

func (d *ready) create(t *testing.T) func(gate.Identity) error {
	return func(gate.Identity) error {
		_, err := d.p.Create(t.Context(), d.req)
		return err
	}
}

// off takes the power of a machine by Delete, and waits until it is off.
func (d *ready) off(t *testing.T, r *rig) {
	t.Helper()
	require.NoError(t, d.delete(t, r)(d.m.Identity))
	r.advance(time.Minute)
	require.False(t, r.vm(t, d.m.ID).Running)
}

func booted(t *testing.T, r *rig, change func(*provider.Request)) *ready {
	t.Helper()
	d := &ready{p: r.provider(t), req: request(1)}
	if change != nil {
		change(&d.req)
	}
	d.m = boot(t, r, always(d.p), &d.req)
	return d
}

func keep(req *provider.Request) { req.Keep = true }

// deeds are all calls that change something of a machine that is there.
var deeds = map[string]func(t *testing.T, r *rig) *ready{
	"its power is taken": func(t *testing.T, r *rig) *ready {
		d := booted(t, r, nil)
		d.act = d.delete(t, r)
		return d
	},
	"it is destroyed": func(t *testing.T, r *rig) *ready {
		d := booted(t, r, nil)
		d.off(t, r)
		d.act = d.delete(t, r)
		return d
	},
	"it is shut down to be kept": func(t *testing.T, r *rig) *ready {
		d := booted(t, r, keep)
		d.act = d.delete(t, r)
		return d
	},
	"it is kept": func(t *testing.T, r *rig) *ready {
		d := booted(t, r, keep)
		d.off(t, r)
		d.act = d.delete(t, r)
		return d
	},
	"what it joined with is taken from one that goes": func(t *testing.T, r *rig) *ready {
		r.withJoin()
		d := booted(t, r, nil)
		d.off(t, r)
		d.act = d.delete(t, r)
		return d
	},
	"what it joined with is taken from one that has joined": func(t *testing.T, r *rig) *ready {
		r.withJoin()
		d := booted(t, r, nil)
		d.req.Joined = true
		d.act = d.create(t)
		return d
	},
	"it is shut down": func(t *testing.T, r *rig) *ready {
		d := booted(t, r, nil)
		d.act = d.stop(t, r)
		return d
	},
	"its power is taken where it does not shut down": func(t *testing.T, r *rig) *ready {
		r.spec.ShutdownTimeout = &metav1.Duration{}
		d := booted(t, r, nil)
		d.act = d.stop(t, r)
		return d
	},
	"it is started again": func(t *testing.T, r *rig) *ready {
		d := booted(t, r, nil)
		halt(t, r, always(d.p), d.m)
		d.act = d.create(t)
		return d
	},
}

// copyOf puts a VM that has all that another carries at a number of its own, and starts it.
func copyOf(r *rig, vm pvesim.VM, number int, change func(*pvesim.VM)) {
	vm.ID, vm.Running, vm.Config = number, true, maps.Clone(vm.Config)
	if change != nil {
		change(&vm)
	}
	r.cluster.Put(vm)
}

// asCloned is what Proxmox VE changes in a clone that a person asks for: the UUID and the name. Tags and notes are taken over.
func asCloned(vm *pvesim.VM) {
	vm.Config["smbios1"] = "uuid=00000000-0000-4000-8000-00000000beef"
	vm.Config["name"] = "Copy-of-VM-" + vm.Config["name"]
}

// impostors put something else where the machine was. Those that Create would have to take for a machine that is gone are not for it.
var impostors = map[string]struct {
	arrive func(r *rig, vm pvesim.VM)
	// told is in the error; both numbers, where there are two VMs.
	told string
}{
	"another UUID": {func(r *rig, vm pvesim.VM) {
		r.cluster.Change(vm.ID, func(vm *pvesim.VM) { vm.Config["smbios1"] = "uuid=00000000-0000-4000-8000-00000000beef" })
	}, "UUID"},
	"another name": {func(r *rig, vm pvesim.VM) {
		r.cluster.Change(vm.ID, func(vm *pvesim.VM) { vm.Config["name"] = "db" })
	}, `"db"`},
	"a clone in its place": {func(r *rig, vm pvesim.VM) { r.cluster.Change(vm.ID, asCloned) }, "VM %d"},
	"a clone beside it":    {func(r *rig, vm pvesim.VM) { copyOf(r, vm, 1999, asCloned) }, "VM %d and VM 1999"},
	"a clone outside our numbers": {func(r *rig, vm pvesim.VM) {
		copyOf(r, vm, 177, asCloned)
	}, "VM %d and VM 177"},
	"its backup restored beside it": {func(r *rig, vm pvesim.VM) { copyOf(r, vm, 1998, nil) }, "VM %d and VM 1998"},
	"a clone with a number before its own": {func(r *rig, vm pvesim.VM) {
		copyOf(r, vm, 1000, asCloned)
	}, "VM %d and VM 1000"},
	"only a clone is left": {func(r *rig, vm pvesim.VM) {
		r.cluster.Remove(vm.ID)
		copyOf(r, vm, 1999, asCloned)
	}, "VM %d, and what carries its mark is VM 1999"},
	"only its backup is left": {func(r *rig, vm pvesim.VM) {
		r.cluster.Remove(vm.ID)
		copyOf(r, vm, 1000, nil)
	}, "VM %d, and what carries its mark is VM 1000"},
	"a list that shrank": {func(r *rig, vm pvesim.VM) {
		r.cluster.Change(vm.ID, func(vm *pvesim.VM) { vm.Hidden = true })
	}, "number %d is in use"},
	"another host since the list was read": {func(r *rig, vm pvesim.VM) {
		r.cluster.Change(vm.ID, func(vm *pvesim.VM) {
			vm.Host = map[string]string{"pve1": "pve2", "pve2": "pve3", "pve3": "pve1"}[vm.Host]
		})
	}, "VM %d"},
}

// asOld takes out of the notes what marks did not have before nodes' names came with a hash, and gives the machine the name of then.
func asOld(vm *pvesim.VM) {
	vm.Config["description"] = regexp.MustCompile(`,"(node|vmid)":("[^"]*"|\d+)`).ReplaceAllString(vm.Config["description"], "")
	vm.Config["name"] = "std-001"
}

func TestImpostorsAreNotTouched(t *testing.T) {
	t.Parallel()
	for deed, prepare := range deeds {
		for impostor, other := range impostors {
			if impostor == "a list that shrank" && deed == "it is started again" {
				continue // Create begins anew where a machine is not there, and Proxmox VE refuses a number that is in use
			}
			for _, since := range []string{"this process", "another process", "an older Muster"} {
				t.Run(deed+"/"+impostor+"/made by "+since, func(t *testing.T) {
					r := newRig(t)
					if strings.Contains(impostor, "since the list was read") {
						r.viewAge = time.Hour
					}
					d := prepare(t, r)
					if since == "an older Muster" {
						r.cluster.Change(mustNumber(t, d.m.ID), asOld)
					}
					if since != "this process" {
						d.p = r.provider(t)
					}
					var known provider.Machine
					for range 2 { // the first sees the last task end, and the list is read again after that
						var err error
						known, err = d.p.Get(t.Context(), d.m)
						require.NoError(t, err)
					}
					other.arrive(r, r.vm(t, d.m.ID))
					before, tokens, volumes := r.cluster.VMs(), len(r.tokens(t)), len(r.cluster.Volumes())
					r.cluster.Requests()
					err := d.act(known.Identity)
					require.Error(t, err)
					require.NotErrorIs(t, err, provider.ErrNotFound)
					if strings.Contains(other.told, "%d") {
						require.ErrorContains(t, err, fmt.Sprintf(other.told, mustNumber(t, d.m.ID)))
					} else {
						require.ErrorContains(t, err, other.told)
					}
					require.Empty(t, r.changing())
					require.Equal(t, before, r.cluster.VMs())
					require.Len(t, r.tokens(t), tokens)
					require.Len(t, r.cluster.Volumes(), volumes)
				})
			}
		}
	}
}

// changing are the requests that could change something.
func (r *rig) changing() (changing []string) {
	for _, request := range r.cluster.Requests() {
		if !strings.HasPrefix(request, "GET ") {
			changing = append(changing, request)
		}
	}
	return changing
}

// A VM that was changed in all that its mark is compared with, tags, notes and configuration alike, still is not the one that was recorded.
func TestImpostorThatAgreesWithItselfIsNotTheRecordedMachine(t *testing.T) {
	for deed, prepare := range deeds {
		for name, change := range map[string]func(*gate.Identity){
			"another number": func(id *gate.Identity) { id.ID = "1999" },
			"another name":   func(id *gate.Identity) { id.Name = "std-009" },
			"another UUID":   func(id *gate.Identity) { id.SystemUUID = "5d5c3f6e-0000-5000-8000-00000000beef" },
		} {
			if strings.Contains(deed, "started") || strings.Contains(deed, "has joined") {
				continue // nothing is taken away, and no proof is asked for
			}
			t.Run(deed+"/"+name, func(t *testing.T) {
				r := newRig(t)
				d := prepare(t, r)
				recorded := d.m.Identity
				change(&recorded)
				before := r.cluster.VMs()
				r.cluster.Requests()
				require.ErrorIs(t, d.act(recorded), provider.ErrRefused)
				require.Empty(t, r.changing())
				require.Equal(t, before, r.cluster.VMs())
			})
		}
	}
}

func TestImpostorBeingConfiguredIsNotTouched(t *testing.T) {
	for impostor, arrive := range map[string]func(r *rig, vm pvesim.VM){
		"another name": func(r *rig, vm pvesim.VM) {
			r.cluster.Change(vm.ID, func(vm *pvesim.VM) { vm.Config["name"] = "db" })
		},
		"a clone in its place": func(r *rig, vm pvesim.VM) {
			r.cluster.Remove(vm.ID)
			copyOf(r, vm, vm.ID, asCloned)
		},
	} {
		t.Run(impostor, func(t *testing.T) {
			r := newRig(t)
			p, req := reserved(t, r)
			_, err := p.Create(t.Context(), req)
			require.NoError(t, err)
			r.advance(time.Minute)
			arrive(r, r.vm(t, req.ID))
			before := r.cluster.VMs()
			r.cluster.Requests()
			_, err = p.Create(t.Context(), req)
			require.Error(t, err)
			require.Empty(t, r.changing())
			require.Equal(t, before, r.cluster.VMs())
		})
	}
}

// What the notes name is taken away with the machine: it has to be its own.
func TestImpostorsInTheNotesAreNotTakenAway(t *testing.T) {
	for name, change := range map[string]struct{ from, to string }{
		"somebody else's image": {`"seed":"iso:iso/muster-[0-9a-f-]+.iso"`, `"seed":"iso:iso/debian.iso"`},
		"somebody else's token": {`"token":"[^"]+"`, `"token":"abcdef"`},
	} {
		for deed, prepare := range deeds {
			if !strings.Contains(deed, "joined") {
				continue
			}
			t.Run(name+"/"+deed, func(t *testing.T) {
				r := newRig(t)
				d := prepare(t, r)
				r.cluster.Change(mustNumber(t, d.m.ID), func(vm *pvesim.VM) {
					vm.Config["description"] = regexp.MustCompile(change.from).ReplaceAllString(vm.Config["description"], change.to)
				})
				require.Contains(t, r.vm(t, d.m.ID).Config["description"], change.to)
				tokens := len(r.tokens(t))
				r.cluster.Requests()
				require.ErrorIs(t, d.act(d.m.Identity), provider.ErrRefused)
				require.Empty(t, r.changing())
				require.Len(t, r.tokens(t), tokens)
			})
		}
	}
}

// The clone's mark is what keeps the machine: without it, and also when the clone is gone, the release goes on, and the clone stays.
func TestImpostorIsToldOfUntilItsMarkIsTakenOff(t *testing.T) {
	r := newRig(t)
	d := booted(t, r, nil)
	copyOf(r, r.vm(t, d.m.ID), 1999, asCloned)
	got, err := d.p.Get(t.Context(), d.m)
	require.NoError(t, err, "the claim keeps its machine meanwhile")
	require.Equal(t, "VM 1999", got.Twins)
	got.Twins = ""
	require.Equal(t, d.m, got)
	err = d.delete(t, r)(d.m.Identity)
	require.ErrorIs(t, err, provider.ErrRefused)
	require.Contains(t, provider.HintOf(err), "take off the tag muster-")
	r.cluster.Change(1999, func(vm *pvesim.VM) { vm.Config["tags"], vm.Config["description"] = "", "" })
	gone(t, r, always(d.p), d.m)
	clone, there := r.cluster.VM(1999)
	require.True(t, there && clone.Running)
	require.Zero(t, clone.Stops)
}

// In a listing a clone is no machine; one whose mark is too old to tell is a second one of the claim. It takes the claim's place in
// neither case, and is not removed when the claim is gone.
func TestImpostorsInAListing(t *testing.T) {
	for old, listed := range map[bool]int{false: 1, true: 2} {
		for restarted := range 2 {
			t.Run(fmt.Sprintf("old %t, restarted %d", old, restarted), func(t *testing.T) {
				r := newRig(t)
				d := booted(t, r, nil)
				if old {
					r.cluster.Change(mustNumber(t, d.m.ID), asOld)
				}
				copyOf(r, r.vm(t, d.m.ID), 1999, asCloned)
				if restarted == 1 {
					d.p = r.provider(t)
				}
				machines, err := d.p.List(t.Context())
				require.NoError(t, err)
				require.Len(t, machines, listed)
				for _, id := range []provider.ID{d.m.ID, "1999"} {
					seen := d.m
					seen.ID = id
					got, err := d.p.Get(t.Context(), seen)
					if err == nil {
						require.Equal(t, id, got.ID, "what is asked for, and not the other")
					}
				}
				for _, remains := range []bool{true, false} { // of the claim's machine, which is released first
					if !remains {
						r.cluster.Remove(mustNumber(t, d.m.ID))
					}
					r.cluster.Requests()
					for _, seen := range machines {
						require.Error(t, d.p.Delete(t.Context(), seen, gatetest.Judge(gate.Delete, seen, r.now())))
					}
					require.Empty(t, r.changing())
					clone, there := r.cluster.VM(1999)
					require.True(t, there && clone.Running)
				}
			})
		}
	}
}

func TestImpostorOfAKeptMachineIsNotWoken(t *testing.T) {
	for _, left := range []bool{true, false} {
		t.Run(fmt.Sprintf("the kept one is there: %t", left), func(t *testing.T) {
			r := newRig(t)
			d := booted(t, r, keep)
			gone(t, r, always(d.p), d.m)
			kept := r.vm(t, d.m.ID)
			copyOf(r, kept, 1000, func(vm *pvesim.VM) { vm.Running = false })
			if !left {
				r.cluster.Remove(kept.ID)
			}
			was, _ := r.cluster.VM(1000)
			d.p = r.provider(t)
			next := request(2)
			m := boot(t, r, always(d.p), &next)
			require.NotEqual(t, provider.ID("1000"), m.ID)
			require.Equal(t, left, m.ID == d.m.ID)
			now, there := r.cluster.VM(1000)
			require.True(t, there)
			require.Equal(t, was, now)
		})
	}
}
