package pvesim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// power switches a guest on, or takes its power away.
func (c *Cluster) power(vm *VM, on bool) answer {
	if on && !c.quorum {
		return died("cluster not ready - no quorum?")
	}
	kind := map[bool]string{true: "start", false: "stop"}[on]
	return c.managed(vm, kind, 0, func() string {
		switch {
		case on && vm.Template:
			return "you can't start a vm if it's a template"
		case on && vm.Config["lock"] != "":
			return lockedOut(vm)
		case on && vm.Running:
			return fmt.Sprintf("VM %d already running", vm.ID)
		case on && c.missing(vm) != "":
			return c.missing(vm)
		case on:
			vm.Starts++
		case vm.Running:
			vm.Stops++
		}
		vm.Running = on
		return "OK"
	})
}

// shutdown asks the guest to stop. One that is deaf runs until the timeout, and then on, unless the power is to be taken away then.
func (c *Cluster) shutdown(vm *VM, parameters map[string]string) answer {
	var patience time.Duration
	if vm.Deaf && vm.Running {
		seconds, err := strconv.Atoi(parameters["timeout"])
		if err != nil {
			seconds = 60
		}
		patience = time.Duration(seconds) * time.Second
	}
	return c.managed(vm, "shutdown", patience, func() string {
		switch {
		case !vm.Running:
			return "OK"
		case vm.Deaf && parameters["forceStop"] != "1":
			return "VM quit/powerdown failed - got timeout"
		case !vm.Deaf:
			vm.Shutdowns++
		}
		vm.Stops++
		vm.Running = false
		return "OK"
	})
}

// managed has a guest switched, by the high-availability manager where that has it: its task is only the order, which is carried
// out later.
func (c *Cluster) managed(vm *VM, kind string, lasts time.Duration, end func() string) answer {
	if !vm.HA {
		return ok(c.switching(vm, "qm"+kind, lasts, end))
	}
	order := map[string]string{"start": "hastart", "stop": "hastop", "shutdown": "hastop"}[kind]
	return ok(c.run(vm.Host, order, strconv.Itoa(vm.ID), func() string {
		c.switching(vm, "qm"+kind, lasts+haDelay, end)
		return "OK"
	}))
}

// haDelay is how long the high-availability manager takes to do what it was asked for.
const haDelay = 10 * time.Second

// lockPatience is how long a task waits for the lock of a guest, which whatever switches it holds to its end.
const lockPatience = 10 * time.Second

// switching is a task that holds the lock of a guest. It waits for those before it, or fails where that takes too long.
func (c *Cluster) switching(vm *VM, kind string, lasts time.Duration, end func() string) string {
	id := strconv.Itoa(vm.ID)
	begins := c.Now()
	for _, t := range c.order {
		if t.id == id && t.locks && t.ends.After(begins) {
			begins = t.ends
		}
	}
	upid := c.run(vm.Host, kind, id, func() string {
		if c.vms[vm.ID] != vm {
			return fmt.Sprintf("Configuration file 'nodes/%s/qemu-server/%d.conf' does not exist", vm.Host, vm.ID)
		}
		return end()
	})
	t := c.tasks[upid]
	t.locks, t.ends = true, begins.Add(c.TaskTime+lasts)
	if begins.Sub(c.Now()) > lockPatience {
		t.locks, t.ends, t.end = false, c.Now().Add(lockPatience), func() string { return lockedOut(vm) }
	}
	return upid
}

func lockedOut(vm *VM) string {
	return fmt.Sprintf("can't lock file '/var/lock/qemu-server/lock-%d.conf' - got timeout", vm.ID)
}

// missing is a volume of a drive that is not there.
func (c *Cluster) missing(vm *VM) string {
	for _, name := range slices.Sorted(maps.Keys(vm.Config)) {
		if why := c.drive(vm, vm.Config[name]); why != "" && driveName.MatchString(name) {
			return why
		}
	}
	return ""
}
